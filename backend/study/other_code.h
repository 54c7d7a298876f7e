// What an answer assumes of the code that runs it, and the same plan timed as other code or on other masks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/config/engines.h"
#include "backend/job/job.h"
#include "backend/study/quiet_run.h"

namespace spscope {

// "torch.compile and fa3"; "the costs of mine.toml" where a cluster gives its costs one by one.
std::string code_text(const Job& job);

// "The rate of sparge on h100 is taken from FlashAttention-2.", where no published rate is of this kernel on this GPU;
// else "".
std::string rate_note(const Job& job);

struct OtherTime {
  std::string text = {};                // "the model's own uncompiled code and fa2"; of masks "sparge, density 0.40"
  std::int64_t end_to_end_ns = 0;       // 0: it cannot run
  std::optional<double> layer_ns = {};  // a mean layer
  std::string why = {};                 // then "does not fit" or "cannot run"
  std::string faster = {};     // label of the fastest of all there, when the model tells it from this; "": it does not
  std::int64_t faster_ns = 0;  // its time
  bool of_engines = false;     // it is the fastest of those that engines run
  std::string flags = {};      // what asks advise for it: "--density 0.4"
};

// One strategy, `argument` of -s, with the other usual kernel in the other usual code: FA2 or, for sparse masks,
// FlexAttention in the code that a model was published with, in place of compiled code; or the other way round. Absent
// where the cluster gives its costs one by one. All strategies of the question are timed there, of an engine those that
// it has, else those that any engine runs; `error` is by how much the model must have one faster. Times are means over
// so many seeds, where these say more than one. `asked`: settings of the job.
std::optional<OtherTime> with_other_code(const JobFlags& asked, const Job& job, const std::string& argument,
                                         const Engine* engine, double error, int seeds, const QuietRun& options);
// The same strategy at kUsualDensity on masks of `sparge`, or of the first pattern that the engine has. Absent where it
// cannot run, or the engine does not have it. REQUIRES: the engine, if any, has a pattern.
std::optional<OtherTime> with_sparse_masks(const JobFlags& asked, const Job& job, const std::string& argument,
                                           const Engine* engine, int seeds, const QuietRun& options);
inline constexpr double kUsualDensity = 0.4;

}  // namespace spscope
