// Time edits: what a stored denoise step would take if one thing were otherwise, by scheduling its plans anew.
//
// The passes of a step are one schedule (schedule/layer_passes.h), so they are edited and scheduled together. Compute
// takes what the stored timeline says, transfers what the model of the stored cluster says. Times that a schedule made
// (simulated and projected runs) come out again to the nanosecond when nothing is edited; of executed runs the network
// is measured, so only edited and unedited schedules compare, and how far the latter is from the measured time says how
// well the model knows this network. Every result is modelled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/analysis/time_terms.h"
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

// By Cause, what its time is multiplied by; 1: as it is, 0: it takes none. Of launches, rows, tiles, merges, copies
// (with the packing of all-to-alls) and kernels the time of the device; of slowdown what communication adds to it; of a
// late rank by how much it and its op in each post differ from the mean over all ranks; of latency the time before the
// first byte; of wire 0 says that messages inside nodes, or between them, use no link; of the host the time at which it
// issues an op. Idle has no number behind it, and transfers are their parts.
struct CauseScales {
  std::array<double, kNumCauses> of;
  CauseScales() { of.fill(1); }
  double& operator[](Cause cause) { return of[static_cast<std::size_t>(cause)]; }
  double operator[](Cause cause) const { return of[static_cast<std::size_t>(cause)]; }
};

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
  // With the causes of time scaled. REQUIRES: no scale is below 0.
  ScheduledPasses run_scaled(const CauseScales& scales) const;
  // Compute of all ranks if nothing disturbed them, and what all-to-alls pack.
  TimeTerms compute_terms() const;

 private:
  std::vector<std::int64_t> scaled_compute(std::size_t pass, const CauseScales& scales) const;
  ScheduledPasses schedule_with(const std::vector<std::vector<std::int64_t>>& compute_ns,
                                const std::vector<HostTimes>& hosts, const Network& network,
                                const CancelToken* cancelled) const;

  const EditablePasses& stored_;
  std::vector<std::vector<std::int64_t>> compute_ns_;  // undisturbed, of each pass
  std::vector<HostTimes> hosts_;
};

}  // namespace spscope
