// What "all" stands for in run.strategies: every strategy but the baseline, each at the setting of its candidates()
// that the schedule finds fastest on the cluster. The others are never run, so that this serves every run.mode.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/job/job.h"
#include "backend/job/layer_masks.h"

namespace spscope {

struct PickOptions {
  std::function<void(std::string_view strategy)> on_strategy = {};  // whose settings are compared next
  std::function<void(const std::string& text)> on_note = {};        // how long picking takes, where that is long
  const std::atomic<bool>* interrupt = nullptr;                     // set: the best so far are taken
};

// The strategies of the job; those that `all` stands for have their parameters and ChosenStrategy::pick. One that has
// no setting of its own on so many ranks (USP on two, which is Ulysses or a ring) is left out, and so is one whose
// setting is also asked for by name. One that cannot run stays, with pick->settings = 0: its legal() says why.
//
// `samples`: requests of the job, of a few of its layers; what is not in their known masks is not looked at. A setting
// counts with the sum of its makespans over them. On the first, settings whose compute alone takes longer than the
// fastest so far are not scheduled, where that is over kWorthASecondLook times; on the others, those that were within
// kWorthASecondLook are. Settings that decide alike on all of them count as one.
// REQUIRES: samples not empty.
std::vector<ChosenStrategy> pick_settings(const Job& job, std::span<const Request> samples,
                                          const PickOptions& options = {});
inline constexpr double kWorthASecondLook = 1.1;  // of the fastest on the first sample

// How long a plan takes on the cluster of the job, host and local copies included: what settings are compared by.
std::int64_t scheduled_ns(const Job& job, const Plan& plan);

// How long the first look at every setting that is to be picked takes on one core.
double picking_seconds(const Job& job, const Request& sample);

// Whether any setting is still to be picked.
bool has_unpicked(const Job& job);
// Requests of at most `most` layers that run, spread over them, with the masks of the first denoise step, which the
// source keeps for the run.
std::vector<Request> sample_requests(const Job& job, MaskSource& masks, int most = 3);
inline constexpr int kMostSamples = 8;
// The job with its settings picked on sample_requests(); as it is when there is nothing to pick.
Job with_picked_settings(const Job& job, MaskSource& masks, const PickOptions& options = {});

}  // namespace spscope
