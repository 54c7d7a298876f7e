// Collector: watches what devices and calls of this process do, from its start to stop(), and hands it to a TraceSink.
// A row of collectors.def enrols one in `spscope list collectors`, in run.collect and in attach.
//
// It never breaks what it watches: what it adds to the threads of the program is noexcept, waits for nobody, and counts
// what it must drop. All times are of the raw clock of the host (now_ns()).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/ids.h"
#include "backend/record/collect_windows.h"
#include "backend/record/collector_cost.h"
#include "backend/record/trace_sink.h"

namespace spscope {

// Whose tracks they are.
struct CollectedProcess {
  std::optional<int> rank = {};             // that tracks name; none: of no rank
  std::optional<std::string> process = {};  // that tracks name; none in runs of plans, where the rank says it
  // That it computes on, each a number modulo how many CUDA lets it see, as ranks take them; empty: all of those.
  std::vector<int> devices = {};
  // When events are wanted: one that begins outside is left out and is not lost. It outlives the collector. Null:
  // always.
  const CollectWindows* windows = nullptr;
  bool wants(std::int64_t begin_ns) const { return windows == nullptr || windows->contains(begin_ns); }
  // Is told when the program has called cudaProfilerStart(), true, and when it calls cudaProfilerStop(), false, by the
  // thread that calls. Empty: nobody wants to know.
  std::function<void(bool starts)> on_profiler_call = {};
};

class Collector {
 public:
  virtual ~Collector() = default;
  // Ends collecting; what came until then is handed over. Does nothing when called again. Throws Error.
  virtual void stop() = 0;
  // Between the two no events are wanted, and as little as can be is asked of what is watched; what happened before is
  // still handed over. By one thread at a time, not after stop(), and only where the process has windows.
  virtual void pause() noexcept {}
  virtual void resume() noexcept {}
  // By any thread, also while it collects.
  virtual CollectorCost cost() const = 0;
  // What it does not collect here, and why: "nvtx ranges: CUPTI ...".
  virtual std::vector<std::string> notes() const { return {}; }

  // How many events it hands over for an op of a timed repeat at the least, on the whole: what a run needs on a disk.
  virtual int least_events_of_op() const { return 0; }

  // Between the two, what this thread asks devices to do belongs to this op of this rank. They do not nest.
  virtual void begin_launch(int /*rank*/, RunId /*run*/, OpId /*op*/) noexcept {}
  virtual void end_launch() noexcept {}
  // An op of a timed repeat has ended: its event as the rank's lane has it, with a name of the same sink. Calls for one
  // lane come from one thread.
  virtual void op_ended(int /*rank*/, int /*lane*/, const RingRecord& /*op*/) noexcept {}
};

struct CollectorRow {
  std::string_view name, summary;
  std::string_view in_place_of = {};  // collectors.def; "": of none
  // Why it cannot collect in this process, with what to do; nothing when it can. Starts nothing, and loads only what
  // start() would load.
  std::optional<std::string> (*cannot_collect)() = nullptr;
  // The sink outlives the collector. Throws Error (kCannotCollect).
  std::unique_ptr<Collector> (*start)(TraceSink& sink, const CollectedProcess& process) = nullptr;
  bool in_runs = true;  // run.collect may name it, and auto starts it where it can collect
};

// In the order of collectors.def.
std::span<const CollectorRow> collectors();

}  // namespace spscope
