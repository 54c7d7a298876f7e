// OutputTensor: what a run left as the layer's outputs, put together from the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/buffer_store.h"
#include "backend/execute/cells.h"

namespace spscope {

struct OutputTensor {
  TensorSet tensors = kOutputs;  // o of an attention, or x of a whole layer
  int layer = 0;                 // attention of the layer, as Value::layer
  // o: [batch, heads, outer_tokens, inner_tokens, head_dim], x: [batch, hidden, outer_tokens, inner_tokens]; NaN where
  // no rank holds anything.
  std::vector<float> values;
  // Largest difference of a replica from the lowest rank that holds the element; 0 without replicas, NaN when one is.
  double max_replica_difference = 0;
};

// Every rank's share of every output, located before the run.
class OutputGather {
 public:
  OutputGather(const Plan& plan, CellFinder& finder);
  // REQUIRES: the run has ended; outputs are still there.
  std::vector<OutputTensor> gather(const BufferStore& store) const;

 private:
  struct Share {
    std::size_t output;
    Box box;
    std::vector<CellRun> cells;
  };
  void place(const BufferStore& store, const Share& share, int entry, OutputTensor& whole,
             std::vector<bool>& written) const;

  const Plan& plan_;
  std::vector<Share> shares_;
};

}  // namespace spscope
