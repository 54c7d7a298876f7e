// OutputTensor: what a run left as the layer's outputs, put together from the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/buffer_store.h"
#include "backend/execute/cells.h"

namespace spscope {

// A row of nearly nothing is judged against this share of the mean row's squares.
inline constexpr double kSmallestShareOfMean = 0.01;

struct OutputTensor {
  TensorSet tensors = kOutputs;  // o of an attention, or x of a whole layer
  int layer = 0;                 // attention of the layer, as Value::layer
  // o: [batch, heads, outer_tokens, inner_tokens, head_dim], x: [batch, hidden, outer_tokens, inner_tokens]; NaN where
  // no rank holds anything.
  std::vector<float> values;
  // Largest normalised square error of a row (one head of one token; of x all channels of one token) at any rank
  // against the lowest ranks that hold its elements, which `values` come from: sum (replica - values)^2 / sum values^2.
  // 0 without replicas, NaN when a replica is.
  double max_replica_error = 0;
};

// Every rank's share of every output, located before the run.
class OutputGather {
 public:
  OutputGather(const Plan& plan, CellFinder& finder);
  // What a rank holds, its shares one after the other, each [batch][cells][width].
  // REQUIRES: the run has ended; outputs are still there, and the rank's memory is here.
  std::vector<float> held(const BufferStore& store, int rank) const;
  // The outputs from what every rank holds.
  std::vector<OutputTensor> gather(std::span<const std::vector<float>> held_by_rank) const;

 private:
  struct Share {
    std::size_t output;
    int rank;
    Box box;
    std::vector<CellRun> cells;
    std::int64_t num_elements;  // of one batch entry
  };
  // An output on its way.
  struct Gathered;
  void place(const float* held, const Share& share, int entry, Gathered& whole) const;

  const Plan& plan_;
  std::vector<Share> shares_;  // by output, then rank
};

}  // namespace spscope
