// Judgements: which strategy of a mode is fastest, as far as its times show, and why the others are slower. Tables,
// charts, sentences and results all use this, so that they agree on the winner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/mode_group.h"
#include "backend/analysis/ratio_error.h"
#include "backend/analysis/reason.h"

namespace spscope {

enum class Lead {
  kUnknown,   // fewer than two comparable times, or other programs disturbed them
  kTied,      // within the spread of the repeats
  kTooClose,  // within the error of ratios of a model
  kClear,
  kDepends,  // another one is faster at an end of the range that the network's numbers have
};
std::string_view lead_name(Lead lead);  // "unknown", "tied", "too close", "clear", "depends"

struct Judgement {
  std::vector<const StrategyResult*> ranked;  // legal, right, and of clean timing; fastest first
  Lead lead = Lead::kUnknown;
  int level = 0;             // of a tie: how many of `ranked` are as fast as the first, itself included
  std::string disturbance;   // evidence that other programs disturbed the times (trust.h); "": none
  bool empty_masks = false;  // nothing is attended: times compare nothing
  bool foreign = false;      // compute is that of another machine than the cluster
  // Strategies that the config names and that cannot run: nothing is the fastest of what was asked for.
  std::vector<const StrategyResult*> refused;
  std::optional<RatioError> error;  // of modelled times
  double rest_ns = 0;               // ClusterFigures::rest_of_layer_ns
  bool of_layers = false;           // `error` is a share of a whole layer; else of its attention, whose rest is unknown
  // Of times with a range (makespan_low_ns, makespan_high_ns): the fastest at its fast end and at its slow end.
  const StrategyResult *at_low = nullptr, *at_high = nullptr;
  // Why no measurement supports the difference between the first and the next that is another plan; "" when one does;
  // and which assumed numbers one of these two rests on, "" for none.
  std::string unmeasured, assumed_moves;

  // The strategy that is fastest on the cluster; nullptr when the times do not show it.
  const StrategyResult* winner() const {
    return lead == Lead::kClear && !foreign && refused.empty() ? ranked.front() : nullptr;
  }
  // Whether the times show that another of `ranked` is slower than the first: by more than the error of the model, or
  // the spread of the repeats; of a single one by more than kLargestSpread, up to which repeats are judged at all.
  bool slower(const StrategyResult& strategy) const;
  // Whether the model cannot tell a time of so many layer passes from the least one. Its error is that of whole layers,
  // so times of attention alone count with the rest of their layers. REQUIRES: `error`.
  bool too_close(std::int64_t time_ns, std::int64_t least_ns, std::size_t passes) const;
  // Why another strategy is slower than the first of `ranked`; absent for the first, for those that are not in it,
  // where times do not compare or do not show that it is slower(), and for a strategy that is fastest at one end of the
  // range.
  std::optional<Reason> reason(const StrategyResult& strategy) const;
};

Judgement judge(const ModeGroup& group);

// Sets StrategyResult::attributions of each strategy for those of its mode that are faster. Times of which nothing can
// be judged have none.
void set_attributions(Comparison& comparison);

}  // namespace spscope
