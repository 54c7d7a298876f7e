// The layer around the attention that a strategy spreads over ranks.
//
// A strategy defines the placement of rows and the attention; the work of a rank on its own rows before and after is
// the same for every strategy. With run.scope = attention (LayerBlock::kAttention) the inputs are q, k and v and the
// output is o. With run.scope = layer input and output are the hidden state x: token-local work, which needs no
// communication where ranks hold whole rows, and that of a WeightCut where they hold parts of the weights.
#pragma once

#include "backend/strategies/layer_blocks.h"

namespace spscope {

struct LayerEntry {
  ValueId q = kNone, kv = kNone;  // of the spread attention: all heads at `rows`, or the heads of the weight cut
  Placement rows;
  BlockEntry block;  // in layer scope: the block of the spread attention
};

// `rows`: all heads of the tokens that each rank holds. In a spatial-temporal layer the spatial block runs first, on
// the same rows, where it needs no communication: rows hold whole frames.
LayerEntry enter_layer(PlanBuilder& builder, const Placement& rows, const WeightCut& cut = {});
// `o`: output of the spread attention, held where the entry's q is. Leaves the outputs of the layer at its rows.
void leave_layer(PlanBuilder& builder, const LayerEntry& entry, ValueId o, const WeightCut& cut = {});

}  // namespace spscope
