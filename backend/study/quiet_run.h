// A run of which only its comparison is wanted: one of the many runs of an answer. It goes the way of `spscope run`,
// into a file in the scratch folder that is removed, so that its figures are those of a kept run.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

// make(i, options) for each i below `count`, in order. Where jobs measure nothing and there are cores, up to `most` are
// made at once, by threads of their own, fewer of many ranks; only the first of these tells its progress.
std::vector<Comparison> at_once(const Job& job, std::size_t count, std::size_t most, const QuietRun& options,
                                const std::function<Comparison(std::size_t, const QuietRun&)>& make);

// Ranks are threads of this process, or there are none. Throws Error: what the run would end with, or kInterrupted.
Comparison comparison_of(const Job& job, const QuietRun& options);

}  // namespace spscope
