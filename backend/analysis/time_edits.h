// Time edits: what a stored denoise step would take if one thing were otherwise, by scheduling its plans anew.
//
// The passes of a step are one schedule (schedule/layer_passes.h), so they are edited and scheduled together. Compute
// takes what the stored timeline says, transfers what the model of the stored cluster says. Times that a schedule made
// (simulated and projected runs) come out again to the nanosecond when nothing is edited; of executed runs the network
// is measured, so only edited and unedited schedules compare, and how far the latter is from the measured time says how
// well the model knows this network. Every result is modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/schedule/layer_passes.h"

namespace spscope {

// Nanoseconds by OpId that compute would have taken undisturbed: its time in the timeline, of which what lies beside
// two-sided communication of its rank counts 1 / compute_slowdown. 0 for communication.
std::vector<std::int64_t> undisturbed_compute(const Plan& plan, const Timeline& timeline, double compute_slowdown);

enum class TimeEditKind {
  kNone,
  kEvenlySpread,  // the attention of each rank that has any takes the mean over these, in every pass and in every ring
                  // step: the sum stays
  kRankAsMean,    // that of one rank
  kFasterLinks,   // links inside nodes twice as fast
  kFasterNics,    // NICs between nodes
  kNoLatency,     // messages and collectives start at once
};
struct TimeEdit {
  TimeEditKind kind = TimeEditKind::kNone;
  int rank = 0;  // of kRankAsMean
  friend bool operator==(const TimeEdit&, const TimeEdit&) = default;
};
std::string time_edit_key(const TimeEdit& edit);  // "rank_as_mean"
std::optional<TimeEditKind> find_time_edit(std::string_view key);
std::string time_edit_keys();                      // all of them, with commas between
std::string time_edit_text(const TimeEdit& edit);  // "rank 3 attends as long as the mean"

// The passes of a denoise step of one strategy, in order, and what their schedule rests on.
struct EditablePasses {
  struct Pass {
    Plan plan;
    Timeline timeline;
  };
  std::vector<Pass> passes;
  ClusterPreset cluster;
  int gpus_per_node = 0, ranks_in_use = 0;  // as Network::of_cluster
  bool hosts = false;                       // compute was modelled, and hosts with it
};

// Schedules passes anew, edit by edit. REQUIRES: passes with timelines of their plans, all of as many ranks; they
// outlive this.
class Rescheduler {
 public:
  explicit Rescheduler(const EditablePasses& stored);
  // Throws Error (kCancelled) soon after `cancelled`. REQUIRES: a rank of the plans.
  ScheduledPasses run(const TimeEdit& edit, const CancelToken* cancelled = nullptr) const;

 private:
  const EditablePasses& stored_;
  std::vector<std::vector<std::int64_t>> compute_ns_;  // undisturbed, of each pass
  std::vector<HostTimes> hosts_;
};

}  // namespace spscope
