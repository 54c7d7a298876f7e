// CompletedPasses: layer passes that every strategy has done, on their way into the head. Where the network is
// scheduled (project, simulate) they are held until their denoise step is complete, since the times of a pass depend on
// its neighbours (scheduled_layers.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/job/running_job.h"
#include "backend/job/scheduled_layers.h"

namespace spscope {

class CompletedPasses {
 public:
  explicit CompletedPasses(RunningJob& running);

  // Returns how many passes are stored by this call: one, where nothing is scheduled.
  int add(const LayerOfJob& where, std::vector<StrategyRun> runs);
  // Stores what is held when no more passes come: after an interrupt as much of it as is scheduled within half a
  // second. Returns how many passes that were.
  int finish();

 private:
  struct Pass {
    std::vector<StrategyRun> runs;
    std::optional<std::int64_t> bound_ns;
    std::size_t num_ops() const;
  };
  std::size_t num_held_ops() const;
  int store();

  RunningJob& running_;
  std::vector<Pass> held_ = {};
  std::optional<LayerScheduler> scheduler_ = {};
};

}  // namespace spscope
