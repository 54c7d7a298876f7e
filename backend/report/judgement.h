// Judgements: what the times of one mode allow to be said. Tables, charts and conclusions all ask here, so that none of
// them names a winner which another one denies.
#pragma once

#include <string>
#include <vector>

#include "backend/report/section.h"

namespace spscope {

enum class Lead {
  kNobody,    // fewer than two times that compare, or something disturbed them
  kTied,      // within the spread of the repeats
  kTooClose,  // within what a model can tell apart (kModelAccuracy)
  kClear,
};

struct Judgement {
  std::vector<const StrategyResult*> ranked;  // legal, right, and of clean timing; fastest first
  Lead lead = Lead::kNobody;
  int level = 0;            // of a tie: how many of `ranked` are as fast as the first, itself included
  std::string disturbance;  // what shows that other programs disturbed the times; "" when nothing does
  bool foreign = false;     // compute is of another machine than the cluster

  // The strategy that is fastest on the cluster; nullptr when the times do not say.
  const StrategyResult* winner() const { return lead == Lead::kClear && !foreign ? ranked.front() : nullptr; }
};

Judgement judge(const ModeGroup& group);

// "compute is this CPU's, about 350x slower than the cost model of a800: ..."; "" when it is the cluster's own.
std::string foreign_compute_note(const ModeGroup& group);

}  // namespace spscope
