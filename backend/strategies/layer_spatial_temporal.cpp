// The two blocks of a spatial-temporal layer (STDiT, Latte): attention inside each frame, then along frames at each
// position, each followed by attention to a text that is a parameter; a feed-forward network after each block, or
// after the temporal one alone.
#include "backend/strategies/layer_blocks.h"

namespace spscope {
namespace {

struct BlockNames {
  std::string_view part, ffn_part;
  bool feeds_forward;
};

BlockNames names_of(const Request& request, AttendedAxis axis) {
  if (axis == AttendedAxis::kInner) return {"spatial", "spatial_ffn", request.mlps == 2};
  return {"temporal", "temporal_ffn", true};
}

}  // namespace

BlockEntry enter_factorised(LayerParts& parts, ValueId x, AttendedAxis axis) {
  const std::string_view part = names_of(parts.request(), axis).part;
  const ValueId h = parts.gather(parts.run("modulate", part, {x}));
  BlockEntry entry;
  entry.x = x;
  entry.q = parts.run("head_rms_rope", part, {parts.run("wq", part, {h})});
  entry.kv = parts.run("head_rms_rope", part, {parts.run("wkv", part, {h})});
  return entry;
}

ValueId leave_factorised(LayerParts& parts, const BlockEntry& entry, ValueId o, AttendedAxis axis) {
  const auto [part, ffn_part, feeds_forward] = names_of(parts.request(), axis);
  ValueId x = parts.run("gate", part, {entry.x, parts.join(parts.run("wo", part, {o}))});
  if (parts.request().context_tokens > 0) {
    const ValueId q = parts.run("cross_wq", part, {parts.gather(x)});
    const ValueId y = parts.run("cross_wo", part, {parts.run("cross_attention", part, {q})});
    x = parts.run("residual", part, {x, parts.join(y)});
  }
  if (!feeds_forward) return x;
  const ValueId h = parts.gather(parts.run("modulate", ffn_part, {x}));
  const ValueId f = parts.run("gelu", part, {parts.run("w1", part, {h})});
  return parts.run("gate", ffn_part, {x, parts.join(parts.run("w2", part, {f}))});
}

ValueId spatial_block(LayerParts& parts, ValueId x) {
  const BlockEntry entry = enter_factorised(parts, x, AttendedAxis::kInner);
  const ValueId o = parts.builder().attend_all(entry.q, entry.kv, AttendedAxis::kInner);
  return leave_factorised(parts, entry, o, AttendedAxis::kInner);
}

}  // namespace spscope
