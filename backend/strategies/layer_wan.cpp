// The block of the Wan family: self-attention with q and k normed over all channels, attention to a text that is a
// parameter, its q and k normed likewise, feed-forward network (wan/modules/model.py). Where heads are cut, each norm
// needs the sum of squares of all.
#include "backend/strategies/layer_blocks.h"

namespace spscope {
namespace {

ValueId attend_to_text(LayerParts& parts, ValueId x) {
  const ValueId h = parts.gather(parts.run("modulate", "cross", {x}));
  const ValueId q = parts.run("cross_wq", "", {h});
  const ValueId normed = parts.run("rms", "cross", {q, parts.total(parts.run("sumsq", "", {q}))});
  const ValueId o = parts.run("cross_attention", "", {normed});
  return parts.run("residual", "", {x, parts.join(parts.run("cross_wo", "", {o}))});
}

}  // namespace

BlockEntry enter_wan(LayerParts& parts, ValueId x) {
  const ValueId h = parts.gather(parts.run("modulate", "self", {x}));
  const ValueId q = parts.run("wq", "", {h}), kv = parts.run("wkv", "", {h});
  BlockEntry entry;
  entry.x = x;
  entry.q = parts.run("rms_rope", "", {q, parts.total(parts.run("sumsq", "", {q}))});
  entry.kv = parts.run("rms_rope", "", {kv, parts.total(parts.run("sumsq_k", "", {kv}))});
  return entry;
}

ValueId leave_wan(LayerParts& parts, const BlockEntry& entry, ValueId o) {
  ValueId x = parts.run("gate", "self", {entry.x, parts.join(parts.run("wo", "", {o}))});
  if (parts.request().context_tokens > 0) x = attend_to_text(parts, x);
  const ValueId h = parts.gather(parts.run("modulate", "ffn", {x}));
  const ValueId f = parts.run("gelu", "", {parts.run("w1", "", {h})});
  return parts.run("gate", "ffn", {x, parts.join(parts.run("w2", "", {f}))});
}

}  // namespace spscope
