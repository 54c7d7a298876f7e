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
  std::string phase, strategy, label;  // strategy: its id; label: its name for people
  int repeat = 0;                      // of the strategy's layer
  int done = 0, total = 0;             // strategies x layers x denoise steps
  double eta_s = 0;
};

struct RunOptions {
  std::string dump;                              // folder of --dump; "": none
  const std::atomic<bool>* interrupt = nullptr;  // set by a signal
  std::function<void(const RunProgress&)> on_progress;
  std::function<void(const std::string&)> on_note;  // what the user should know before a long run
};

// How far a run came. A layer that was interrupted is left out whole, so that all strategies compare over the same
// layers.
struct RunOutcome {
  int layers_done = 0, layers = 0;  // x denoise steps
  bool interrupted() const { return layers_done < layers; }
};

// Throws Error: the writer is then not finished and nothing is kept. An interrupt is no error: what is complete is
// stored.
RunOutcome run_job(const Job& job, StoreWriter& writer, const RunOptions& options);

}  // namespace spscope
