// What processes that run one rank each bring to rank 0 after a run, and the result put together from it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/lanes/rank_run.h"
#include "backend/execute/mpi/mpi_world.h"

namespace spscope::mpi {

// What one process tells of its rank.
struct RankResult {
  std::vector<std::int64_t> start_ns;  // by repeat
  std::vector<OpTimes> times;          // by repeat, by op of the rank, on its raw clock
  std::vector<float> outputs;

  // The repeat that `run` has just done, which could start at `start_ns`.
  void add_repeat(const RankRun& run, int rank, std::int64_t start_ns);
  std::vector<std::byte> pack() const;
  static RankResult unpack(std::span<const std::byte> bytes);
};

// Every process calls it. Bytes and peaks of all ranks at all of them, times and outputs of all at rank 0. `result` has
// the peaks of this process.
void collect(MpiWorld& world, const RankRun& run, const CountedBytes& counted, RankResult mine, ExecuteResult& result);

}  // namespace spscope::mpi
