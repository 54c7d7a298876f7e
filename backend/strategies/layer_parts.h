// Building blocks of whole layers, with which each block of layer_blocks.h is described once for every strategy.
//
// A strategy that cuts tokens holds whole rows of the hidden state, and nothing here communicates. One that cuts
// weights (Megatron) computes some heads and some feed-forward columns at each rank; its WeightCut is the communication
// around them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "backend/plan/plan_builder.h"

namespace spscope {

// The columns that each rank computes, and the communication that joins them. Empty members: whole weights.
struct WeightCut {
  using Step = std::function<ValueId(PlanBuilder&, ValueId)>;
  std::vector<SetId> heads, ffn;  // by rank
  Step gather;                    // modulated rows -> all tokens at every rank
  Step join;                      // shares of a sum of hidden state -> the sum, where the layer keeps its rows
  Step total;                     // shares of norm statistics -> whole sums, at every rank of total_groups
  Groups total_groups;            // ranks that compute heads
};

// Tokens that go through kernels of their own, by the part of the kernels' names.
struct TokenStream {
  std::string_view part;
  SetId tokens = kEmptySet;  // of the inner axis
};
using TokenStreams = std::vector<TokenStream>;

class LayerParts {
 public:
  // Both outlive it.
  LayerParts(PlanBuilder& builder, const WeightCut& cut) : b_(builder), cut_(cut) {}

  PlanBuilder& builder() { return b_; }
  const Request& request() const { return b_.request(); }
  // The hidden state at the layer's input: whole rows of the tokens of `rows`, whose columns are ignored.
  ValueId input(const Placement& rows);

  // The kernel `op`, or `op.part`, on all tokens of the values. REQUIRES: it is a kernel of the request; the check
  // names the kernel and the block.
  ValueId run(std::string_view op, std::string_view part, const std::vector<ValueId>& values);
  // `op.part` of each stream on its tokens; the results beside each other.
  ValueId run(std::string_view op, const TokenStreams& streams, const std::vector<ValueId>& values);

  ValueId gather(ValueId rows) { return cut_.gather ? cut_.gather(b_, rows) : rows; }
  // A sum over whole columns is complete as it is.
  ValueId join(ValueId sum) { return pending(sum) ? cut_.join(b_, sum) : sum; }
  // The sums of several kernels, as operands of one that adds its operands: where each is a share of a sum, one sum of
  // all of them is joined.
  std::vector<ValueId> join_all(const std::vector<ValueId>& sums);
  ValueId total(ValueId sum) { return pending(sum) ? cut_.total(b_, sum) : sum; }

 private:
  Groups share_groups(const Kernel& kernel) const;
  bool pending(ValueId value) const { return !b_.plan().values[static_cast<std::size_t>(value)].pending.empty(); }
  // Results of streams as one value that holds `tokens`, whose columns do not matter. A copy: values are added here,
  // and the placements of a builder's values move when they are.
  ValueId join_streams(const std::vector<ValueId>& results, Placement tokens);
  // What each rank holds of these tokens of the inner axis.
  ValueId part_of(ValueId value, SetId tokens);

  PlanBuilder& b_;
  const WeightCut& cut_;
};

}  // namespace spscope
