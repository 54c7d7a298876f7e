// What sharded weights cost in time: before each layer every rank gets the parts of its weights that others hold.
// Runtimes start that a layer ahead, so compute hides some of it or all; no plan has it, and it is in no time.
#pragma once

#include <cstdint>
#include <string>

#include "backend/job/job.h"

namespace spscope {

struct WeightGather {
  std::int64_t layer_bytes = 0;  // weights of a mean layer, of a strategy that does not cut them
  // t0 + (R - 1) / R of them through the port of a rank at the all-gather rate of R ranks, or, where that takes longer,
  // (N - 1) / N of them through the NIC of each of N nodes.
  double layer_ns = 0;
};
// With the ranks of one replica and guidance pass as R, as if run.weights were "sharded".
WeightGather weight_gather(const Job& job);

// "656 MB a layer, 31.2 ms at the all-gather rate of this network where compute hides nothing"
std::string gather_text(const WeightGather& gather);
// What readers of the times are told: "" unless the job shards its weights over several ranks.
std::string gather_note(const Job& job);

}  // namespace spscope
