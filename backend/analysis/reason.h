// Reasons: what makes one strategy slower than another, from the exact difference of their times.
//
// Both makespans are sums of the same terms (time_terms.h), so the difference is the sum of the differences of terms,
// to the nanosecond. The reason is the cause with the largest sum, and nothing else: no ratio decides. Terms are means
// over ranks, which say who waited for whom; where what they name does not make the critical path longer, as when most
// ranks wait out a transfer of a few, the reason is the largest cause along the critical path.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "backend/analysis/sentence.h"
#include "backend/analysis/strategy_result.h"

namespace spscope {

// The rank that a strategy waits for, when one cause of its time is waiting.
struct LateRank {
  int rank = 0;
  double share = 0;  // of all waiting that is for this rank
  // How far its active tiles and its compute are above the means over ranks: 0.31. 0 when they are not known.
  double more_tiles = 0, more_compute = 0;
  std::string heads;  // of StrategyResult::heads_by_rank
  // Of rings: the step of which the others wait longest for it; 0: none.
  int ring_step = 0;
  std::int64_t ring_step_ns = 0;  // mean over ranks
};
// The one that others wait for longest, the lower of two; absent when nobody waits.
std::optional<LateRank> late_rank(const StrategyResult& strategy);

struct Reason {
  std::string than;                // StrategyResult::id of the faster one
  std::int64_t difference_ns = 0;  // of the makespans; the sum of `terms`
  TimeTerms terms;                 // of the slower one minus those of the faster one, means over ranks
  Cause cause = Cause::kIdle;      // the largest sum of terms; of equal ones the first of causes.def
  std::int64_t cause_ns = 0;
  bool along_path = false;       // the cause and its time are those of the critical path: means mislead
  std::optional<LateRank> late;  // when the cause is a late rank
};
// The largest sum of terms; of equal ones the first of causes.def. Its time is 0 when none is above 0.
std::pair<Cause, std::int64_t> largest_cause(const TimeTerms& terms);
// Whether the largest cause by means over ranks is none of the difference of critical paths: ranks that are late
// because of a transfer, or a cause that does not lengthen the path. Of differences between a slower one and a faster
// one.
bool means_mislead(const TimeTerms& mean_terms, const TimeTerms& path_terms);

// Absent when the terms of either are not known, or nothing of `slower` takes longer.
std::optional<Reason> reason_for(const StrategyResult& slower, const StrategyResult& faster);

// Whether times, bytes and messages are told of all layer passes together or of a mean one.
enum class OfPasses { kAll, kMean };
// "ring r8 takes 19.9 ms longer: 15.3 ms of it on the wire inside nodes, sending 1.35 GB a rank instead of 484 MB";
// of a mean pass: "ring r8 takes 2.49 ms a layer longer: ...".
Sentence reason_sentence(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of = OfPasses::kAll);
std::string reason_text(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                        OfPasses of = OfPasses::kAll);

}  // namespace spscope
