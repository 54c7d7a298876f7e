// The blocks of published models (layer_kernels.h has their formulas), in two halves around an attention that the
// strategy implements. One description serves every strategy, and `single` defines the layer by it.
#pragma once

#include "backend/strategies/layer_parts.h"

namespace spscope {

struct BlockEntry {
  ValueId q = kNone, kv = kNone;  // of the attention: the heads that each rank computes, at its gathered tokens
  ValueId x = kNone;              // hidden state at the input of the block
  ValueId h = kNone;              // the same modulated and gathered; set where the feed-forward network reads it too
};

// Everything before the attention of one block, and everything after it; `o` has the heads and tokens of the entry's q.
BlockEntry enter_wan(LayerParts& parts, ValueId x);
ValueId leave_wan(LayerParts& parts, const BlockEntry& entry, ValueId o);
// LayerBlock kJoint and kDoubleStream.
BlockEntry enter_streams(LayerParts& parts, ValueId x);
ValueId leave_streams(LayerParts& parts, const BlockEntry& entry, ValueId o);
BlockEntry enter_single_stream(LayerParts& parts, ValueId x);
ValueId leave_single_stream(LayerParts& parts, const BlockEntry& entry, ValueId o);

// One of the two blocks of a spatial-temporal layer, by the axis that it attends along.
BlockEntry enter_factorised(LayerParts& parts, ValueId x, AttendedAxis axis);
ValueId leave_factorised(LayerParts& parts, const BlockEntry& entry, ValueId o, AttendedAxis axis);
// The whole spatial block, with its attention where the rows are. REQUIRES: ranks hold whole frames of x, unless
// weights are cut.
ValueId spatial_block(LayerParts& parts, ValueId x);

}  // namespace spscope
