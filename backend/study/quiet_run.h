// A run of which only its comparison is wanted: one of the many runs of an answer. It goes the way of `spscope run`,
// into a file in the scratch folder that is removed, so that its figures are those of a kept run.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "backend/analysis/comparison.h"
#include "backend/collect/run_progress.h"
#include "backend/job/job.h"

namespace spscope {

struct QuietRun {
  std::string tool_version;
  const std::atomic<bool>& stop;  // set: the run ends, and so does what it is part of
  std::function<void(const RunProgress&)> on_progress = {};
  std::function<void(const std::string&)> on_warning = {};
  std::shared_ptr<MaskCache> mask_cache = std::make_shared<MaskCache>();  // of all runs with these options
};

// Ranks are threads of this process, or there are none. Throws Error: what the run would end with, or kInterrupted.
Comparison comparison_of(const Job& job, const QuietRun& options);

}  // namespace spscope
