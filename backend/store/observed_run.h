// Observed runs: what a file says of a program that nobody planned, as spscope attach watches one. Such a file has one
// workload, whose config is the command line, one strategy of the mode observed, and one run with one repeat: from the
// begin to the end of the program. There is no plan, no mask and no figure of a rank; what happened is in events, which
// belong to no run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/base/ids.h"

namespace spscope {

class StoreReader;
class StoreWriter;

struct ObservedRun {
  RunId run = {};
  std::string command = {};  // as a shell would take it; up to 64 KiB
  int ranks = 1, nodes = 1;
  bool finished = false;                  // false: nobody saw the program end, and the times are 0
  std::int64_t begin_ns = 0, end_ns = 0;  // run clock

  // The command in headings and messages: what goes beyond 200 bytes is "…".
  std::string short_command() const;
};

// Writes such a head when a program begins. The run is not finished until end_observed_run().
RunId begin_observed_run(StoreWriter& writer, const std::string& command);
// With the ranks and nodes that took part. REQUIRES: end_ns >= begin_ns.
void end_observed_run(StoreWriter& writer, const ObservedRun& ended);

// Of a file; none in a file of strategies.
std::vector<ObservedRun> observed_runs(const StoreReader& reader);

}  // namespace spscope
