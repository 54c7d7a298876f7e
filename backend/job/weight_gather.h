// What sharded weights cost in time: before each layer every rank gets the parts of its weights that others hold.
// Runtimes start that a layer ahead, so compute hides some of it or all. No plan has it, and no printed time includes
// it.
#pragma once

#include <cstdint>
#include <string>

#include "backend/job/job.h"

namespace spscope {

struct WeightGather {
  // Weights of a mean layer, of a strategy that does not cut them, in the narrower of run.weight_dtype and run.dtype.
  std::int64_t layer_bytes = 0;
  // t0 + (R - 1) / R of them through the port of a rank at the all-gather rate of R ranks, or, where that takes longer,
  // (N - 1) / N of them through the NIC of each of N nodes.
  double layer_ns = 0;
};
// With the ranks of one replica as R, those of all its guidance passes, as if run.weights were "sharded".
WeightGather weight_gather(const Job& job);

// "656 MB a layer, up to 31.2 ms if compute hides none of it"
std::string gather_text(const WeightGather& gather);
// What readers of the times are told: "" unless the job shards its weights over several ranks.
std::string gather_note(const Job& job);

}  // namespace spscope
