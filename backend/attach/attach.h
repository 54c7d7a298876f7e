// attach: runs a program that knows nothing of spscope and stores what collectors see of it.
//
// The program loads libspscope_inject.so (collectors/inject) into each of its processes that uses CUDA. Each of them
// asks for shared memory and leaves its events there; this process brings them to a shard for each of them, so that a
// run in progress, a crash of either side and the file in the end are what they are for runs of plans.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/attach/window_setup.h"
#include "backend/base/error.h"
#include "backend/job/run_output.h"
#include "backend/record/collect_windows.h"
#include "backend/record/rank_records.h"

namespace spscope {

// Gets what the user should know, and the name of the process that it is about, "" for none; by any thread.
using AttachNotes = std::function<void(const std::string& process, const std::string& text)>;

// Of a machine on which nothing can be collected.
inline constexpr const char* kNoCudaDriver = "this machine has no CUDA driver (libcuda.so.1)";

struct AttachSetup {
  std::vector<std::string> command;
  std::string library;  // path of the injection library
  // A named pipe or a file that gets a line for each commit: "pid events track" for each track that it reached; "":
  // none.
  std::string acknowledge;
  std::string tool_version;
  AttachNotes on_note;
  WindowSetup window = {};
  // Gets what happens that is no note: which signal starts collecting, and that it started or ended.
  std::function<void(const std::string& text)> on_window = {};
};

struct AttachEnd {
  int wait_status = 0;               // how the program ended, as waitpid(2) says
  int processes = 0;                 // of it that collected
  int not_collected = 0;             // that asked, and could not be
  bool refused_other_users = false;  // processes of theirs asked
  bool driver_hangs = false;         // a thread still waits for it (host_counters.h): exit() might, too
  // Of each process, and of the host; their ranks are what the processes said at first.
  std::vector<CollectorRecord> collectors;
  std::vector<IncidentRecord> incidents;  // of processes that were not collected; the head has them
  std::vector<IncidentRecord> losses;     // that no shard knows of
  std::int64_t lost = 0;                  // events and samples of these
  std::int64_t lost_samples = 0;          // of them, what counters of this host gave
  std::vector<CollectWindow> windows;     // in which events were wanted, on the run clock; of setup.window
  std::optional<Error> failure;           // the head of the collection could not be written to its end
};

// Runs the program to its end and writes shards into the collection of `output`. They are complete when this returns,
// but for `failure`. Throws Error: the program cannot be started, or the head shard cannot be made.
AttachEnd attach(const AttachSetup& setup, const RunOutput& output);

}  // namespace spscope
