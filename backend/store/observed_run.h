// Observed runs: what a file says of a program that nobody planned, as spscope attach watches one. Such a file has one
// workload, whose config is the command line, one strategy of the mode observed, and one run with one repeat: from the
// begin to the end of the program. There is no plan, no mask and no figure of a rank; what happened is in events, which
// belong to no run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/base/ids.h"
#include "backend/record/collect_windows.h"

namespace spscope {

class StoreReader;
class StoreWriter;

struct ObservedRun {
  RunId run = {};
  std::string command = {};  // as a shell would take it; up to 64 KiB
  int ranks = 1, nodes = 1;
  bool finished = false;                  // false: nobody saw the program end, and the times are 0
  std::int64_t begin_ns = 0, end_ns = 0;  // run clock
  // When events were collected, on the run clock, in order; none: all the time.
  std::vector<CollectWindow> windows = {};

  // The command in headings and messages: what goes beyond 200 bytes is "…".
  std::string short_command() const;
};

// Writes such a head when a program begins. The run is not finished until end_observed_run().
RunId begin_observed_run(StoreWriter& writer, const std::string& command);
// With the ranks and nodes that took part. REQUIRES: end_ns >= begin_ns.
void end_observed_run(StoreWriter& writer, const ObservedRun& ended);

// When events are collected, on the run clock and in order, in place of what was said before; a file keeps at most
// kMostWindows, of more those that are nearest to each other become one.
inline constexpr std::size_t kMostWindows = 256;
void set_collect_windows(StoreWriter& writer, std::vector<CollectWindow> windows);
// "2000000000-3000000000 5000000000-", as meta keeps them: the last is open. At most kMostWindows.
std::string stored_windows(std::vector<CollectWindow> windows);
// What makes no sense is left out.
std::vector<CollectWindow> windows_in(const std::string& stored);
// "from 2.0 s to 3.0 s", of many "in 12 windows from 2.0 s to 60.0 s, 4.1 s in all".
std::string windows_text(std::span<const CollectWindow> windows);

// Of a file; none in a file of strategies.
std::vector<ObservedRun> observed_runs(const StoreReader& reader);

}  // namespace spscope
