#include "backend/strategies/layer.h"

namespace spscope {
namespace {

// Attention on inputs of its own.
LayerEntry enter_attention(PlanBuilder& b, const Placement& rows) {
  LayerEntry entry;
  entry.rows = rows;
  QueriesKeysValues given = b.input_qkv(rows);
  if (b.request().spatiotemporal()) {
    b.output(b.attend_all(given.q, given.kv, AttendedAxis::kInner), rows);
    given = b.input_qkv(rows, 1);
  }
  entry.q = given.q;
  entry.kv = given.kv;
  return entry;
}

BlockEntry enter_block(LayerParts& parts, ValueId x) {
  switch (parts.request().block) {
    case LayerBlock::kAttention:
      return {};
    case LayerBlock::kWan:
      return enter_wan(parts, x);
    case LayerBlock::kJoint:
    case LayerBlock::kDoubleStream:
      return enter_streams(parts, x);
    case LayerBlock::kSingleStream:
      return enter_single_stream(parts, x);
    case LayerBlock::kSpatialTemporal:
      return enter_factorised(parts, spatial_block(parts, x), AttendedAxis::kOuter);
  }
  return {};
}

ValueId leave_block(LayerParts& parts, const BlockEntry& entry, ValueId o) {
  switch (parts.request().block) {
    case LayerBlock::kAttention:
      return o;
    case LayerBlock::kWan:
      return leave_wan(parts, entry, o);
    case LayerBlock::kJoint:
    case LayerBlock::kDoubleStream:
      return leave_streams(parts, entry, o);
    case LayerBlock::kSingleStream:
      return leave_single_stream(parts, entry, o);
    case LayerBlock::kSpatialTemporal:
      return leave_factorised(parts, entry, o, AttendedAxis::kOuter);
  }
  return kNone;
}

}  // namespace

LayerEntry enter_layer(PlanBuilder& b, const Placement& rows, const WeightCut& cut) {
  if (b.request().block == LayerBlock::kAttention) return enter_attention(b, rows);
  LayerParts parts(b, cut);
  const ValueId x = parts.input(rows);
  LayerEntry entry;
  entry.rows = b.placement_of(x);
  entry.block = enter_block(parts, x);
  entry.q = entry.block.q;
  entry.kv = entry.block.kv;
  return entry;
}

void leave_layer(PlanBuilder& b, const LayerEntry& entry, ValueId o, const WeightCut& cut) {
  LayerParts parts(b, cut);
  b.output(leave_block(parts, entry.block, o), entry.rows);
}

}  // namespace spscope
