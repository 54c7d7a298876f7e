// Layer passes whose network is scheduled (project, simulate), held until those that follow are known: the ranks of a
// strategy go from layer to layer without meeting, so the times of a pass depend on its neighbours
// (schedule/layer_passes.h). The layers of one denoise step are one schedule; steps meet, since the sampler between
// them needs whole predictions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "backend/job/layer_times.h"

namespace spscope {

// The passes of one strategy, in order, and what is scheduled of them.
struct HeldPass {
  const PlannedLayer* planned;
  TimedLayer* timed;  // with compute_ns; receives timelines, makespans and peaks of memory
};

class LayerScheduler {
 public:
  // On the network and hosts of a cluster, and on the same with its ranges at either end where it has any.
  explicit LayerScheduler(const Cluster& cluster);
  // Schedules passes that follow those given before, of a strategy. Plans too large to be held together may come in
  // several calls: ranks then begin with the lead that they had, and only messages that would meet on a link across the
  // calls do not.
  void schedule(int strategy, std::span<const HeldPass> passes);
  // All ranks meet: the next passes begin at once on all of them.
  void meet();

 private:
  // What is known of a strategy at one end of the ranges.
  struct RangedNetwork {
    RangeEnd end;
    Network network;
    KernelCostProfile cost;          // for what the host takes
    std::map<int, RankLeads> leads;  // by strategy
  };
  void add_range(int strategy, std::span<const HeldPass> passes, std::span<const LayerPass> median, RangedNetwork& at);

  Network network_;
  bool host_ranges_ = false;  // some time of the host has a range
  std::vector<RangedNetwork> ranged_;
  std::map<int, std::vector<RankLeads>> leads_;  // by strategy and repeat
};

}  // namespace spscope
