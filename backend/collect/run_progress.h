// RunProgress: where a run is, in one form for everybody who looks: the JSON lines of `run`, the line that it draws on
// a terminal, and `watch`, which reads it from the progress page (progress_page.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/base/json.h"

namespace spscope {

struct RunProgress {
  std::string phase = "input";                   // input, reference, plan, run, check, merge, done
  std::string strategy, label;                   // id, and name for people; "": no strategy's
  int strategy_number = 0, strategies = 0;       // from 1; 0: no strategy's
  int layer = 0, layers = 0;                     // from 0
  int denoise_step = 0, denoise_steps = 0;       // from 0
  int warmups_done = 0, warmups = 0;             // done, of the plan of this strategy and layer pass
  int repeat = 0, repeats = 0;                   // the same
  int ranks_measured = 0, ranks_to_measure = 0;  // in mode `project`
  int done = 0, total = 0;                       // plans: strategies x layer passes
  double elapsed_s = 0;
  std::optional<double> eta_s;  // until all plans are done; nothing while there is nothing to tell it from
  int shards = 0;               // of the collection
  // Of a run that goes wrong: the first cause, and the rank that it was; -1: none.
  std::string cause, cause_id;  // "SPS-120"; "": not an error of the list
  int cause_rank = -1;
  std::optional<int> exit_code;  // when the run has ended
  std::int64_t said_ns = 0;      // raw clock
};

// The same run at a later moment of the same host, if nothing has happened since: times go on.
RunProgress moved_on(RunProgress progress, std::int64_t now_ns);

// "running ulysses u4 (2 of 5), layer 3 of 40, denoise step 1 of 50, repeat 2 of 5"
std::string progress_text(const RunProgress& progress);
// "1:12, about 3:40 left"; "1:12" while the rest is not known.
std::string time_text(const RunProgress& progress);
// "12 s", "1:12", "2:03:04"
std::string clock_text(double seconds);

// An object without what only the page says: cause, exit code, and when it was said.
Json progress_json(const RunProgress& progress);
// The last such object of a run, with its exit code and cause, and what it left: "" when nothing was kept. `hint`: how
// to mend the cause.
Json end_json(const RunProgress& progress, const std::string& hint, const std::string& out);

}  // namespace spscope
