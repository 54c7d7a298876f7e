// Observations: what a program did that was watched and not planned (store/observed_run.h), as sums over its events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/arrival_skew.h"
#include "backend/analysis/comparison.h"
#include "backend/store/observed_run.h"
#include "backend/store/store_reader.h"

namespace spscope {

// Events of one category on all tracks of one kind that name a rank, or of those that name none.
struct ObservedWork {
  std::optional<int> rank;
  std::string track_kind, category;  // "device stream", "kernel"; of rows of NCCL "NCCL", "transfer"
  std::int64_t count = 0;
  std::int64_t total_ns = 0;  // sum of durations: more than the run took where tracks overlap
};

struct ObservedName {
  std::string name;
  std::int64_t count = 0, total_ns = 0;
};

// Operations of NCCL of one name, as "AllReduce RING SIMPLE", of all ranks. Times are of those that ended.
struct ObservedOperation {
  std::string name;
  std::int64_t count = 0, unfinished = 0;  // those that ended, and others
  std::int64_t bytes = 0;                  // of both
  std::int64_t total_ns = 0;
  std::int64_t begun = 0;      // of `count`: those whose begin on the device is known, of which alone the rest is
  std::int64_t queued_ns = 0;  // from the call to the begin on the device
  std::int64_t device_ns = 0;  // from there to the end
};

// Samples of a counter of a GPU.
struct ObservedCounter {
  std::string name, unit = {};        // "GPU 0 SM clock", "MHz"
  double min = 0, mean = 0, max = 0;  // the mean over time
};

struct Observation {
  ObservedRun run;
  int ranks = 0;                                       // 0: no process had one
  std::int64_t first_event_ns = 0, last_event_ns = 0;  // first begin and last end, run clock; equal: no events
  std::string file, tool_version, created_utc;
  std::vector<ObservedWork> work;             // by rank, kind of track, then longest first
  std::vector<ObservedName> kernels;          // of all ranks, longest first; at most kMostKernels
  std::vector<ObservedOperation> operations;  // longest first; at most kMostOperations
  ArrivalSkew skew;
  std::vector<ObservedCounter> counters;  // in the order of the file: by GPU
  std::vector<CollectorRecord> collectors;
  std::vector<MachineLine> machine;  // the GPUs that took part among it
  Recording recording;

  // How long events were collected from the first operation of NCCL, or event, that counts to the last event: before it
  // a program starts up.
  std::int64_t watched_ns() const;
  // Whether it is known who waits for whom in collectives of NCCL.
  bool knows_waits() const { return skew.collectives > 0 && skew.ranks > 1 && watched_ns() > 0; }
  // What share of watched_ns() this is, of all ranks that can wait at once. REQUIRES: knows_waits().
  double share_of_time(std::int64_t wait_ns) const;

  static constexpr int kMostKernels = 20, kMostOperations = 20;
};

// One for each observed run of the file; none in a file of strategies.
std::vector<Observation> observations(const StoreReader& reader);

// Throws Error (kUsage) for a file of an observed run, which has no strategies to `verb`: "compare".
void require_strategies(const StoreReader& reader, const std::string& verb);

}  // namespace spscope
