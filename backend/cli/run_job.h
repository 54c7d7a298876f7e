// Runs a job: every layer of every denoise step under every strategy, into a store.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "backend/cli/job.h"
#include "backend/store/store_writer.h"

namespace spscope {

// Where a run is: for a progress bar or JSON lines.
struct RunProgress {
  std::string phase, strategy;
  int repeat = 0;           // of the strategy's layer
  int done = 0, total = 0;  // strategies x layers x denoise steps
  double eta_s = 0;
};

struct RunOptions {
  std::string dump;                              // folder of --dump; "": none
  const std::atomic<bool>* interrupt = nullptr;  // set by a signal: stop between ops
  std::function<void(const RunProgress&)> on_progress;
};

// Throws Error; the writer is then not finished and nothing is kept.
void run_job(const Job& job, StoreWriter& writer, const RunOptions& options);

}  // namespace spscope
