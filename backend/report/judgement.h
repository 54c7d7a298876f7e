// Judgements: which strategy of a mode is fastest, as far as its times show. Tables, charts and conclusions all use
// this, so that they agree on the winner.
#pragma once

#include <string>
#include <vector>

#include "backend/report/section.h"

namespace spscope {

enum class Lead {
  kUnknown,   // fewer than two comparable times, or other programs disturbed them
  kTied,      // within the spread of the repeats
  kTooClose,  // within the accuracy of a model (kModelAccuracy)
  kClear,
};

struct Judgement {
  std::vector<const StrategyResult*> ranked;  // legal, right, and of clean timing; fastest first
  Lead lead = Lead::kUnknown;
  int level = 0;            // of a tie: how many of `ranked` are as fast as the first, itself included
  std::string disturbance;  // evidence that other programs disturbed the times (trust.h); "": none
  bool foreign = false;     // compute is that of another machine than the cluster

  // The strategy that is fastest on the cluster; nullptr when the times do not show it.
  const StrategyResult* winner() const { return lead == Lead::kClear && !foreign ? ranked.front() : nullptr; }
};

Judgement judge(const ModeGroup& group);

// "compute is this CPU's, about 350x slower than the cost model of a800: ..."; "" when it is the cluster's own.
std::string foreign_compute_note(const ModeGroup& group);

}  // namespace spscope
