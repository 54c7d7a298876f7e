// Reasons: what makes one strategy slower than another.
//
// Where a schedule made the times of both, the causes are those without which their difference goes away
// (attribution.h). Of measured times nothing can be taken away: there it is the cause whose terms differ most, by means
// over ranks. These divide the time of each rank into compute, transfers that nothing hides and waits, so what two
// plans spend alike is no difference; of ranks that wait because of a transfer, the critical path says which.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  // Most important first: one, or two where the first alone is less than kNamedAlone of the difference. Not empty.
  std::vector<Cause> causes;
  std::vector<double> shares;  // Attribution::shares; of measured times, how much more terms the slower one has
  // How much of the difference goes away without them; of measured times how much more terms the slower one has.
  std::int64_t removed_ns = 0;
  // Means over ranks show less than half of the first one, a transfer, as when most ranks wait for what few send: the
  // words have its time along the critical path.
  bool along_path = false;
  std::optional<LateRank> late;  // when one of them is a late rank

  Cause cause() const { return causes.front(); }
  double share() const;                            // of all causes
  bool shared() const { return 2 * share() < 1; }  // more than half of the difference has other causes
};

// Absent when the terms of either are not known, `slower` is not slower, or no cause explains it.
std::optional<Reason> reason_for(const StrategyResult& slower, const StrategyResult& faster);

// Whether times, bytes and messages are told of all layer passes together or of a mean one.
enum class OfPasses { kAll, kMean };
// The words that every sentence about a reason is made of.
struct ReasonWords {
  std::string more;  // "19.9 ms": of all layer passes, or of a mean one
  // ": 28.5 ms of its transfers inside nodes are exposed, against 13.2 ms in usp u4 r2; it sends 1.35 GB a rank instead
  // of 484 MB"; of two causes " for two reasons. The first makes up 58 % of the difference: ...". It has no
  // last full stop. Of two times of one strategy it says " instead of 13.2 ms".
  Sentence why;
};
ReasonWords reason_words(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of = OfPasses::kAll);
// "19.9 ms slower: ..."; of a mean pass "2.49 ms a layer slower: ...".
Sentence slower_words(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                      OfPasses of = OfPasses::kAll);
// "ring r8 is 19.9 ms slower: ..."
Sentence reason_sentence(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of = OfPasses::kAll);
std::string reason_text(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                        OfPasses of = OfPasses::kAll);

}  // namespace spscope
