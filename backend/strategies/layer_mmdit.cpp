// Blocks in which video and text attend to each other: with shared weights and separate modulations (CogVideoX), with
// all weights separate (MM-DiT double stream), and as one stream (MM-DiT single stream), as in diffusers.
#include "backend/strategies/layer_blocks.h"

namespace spscope {
namespace {

TokenStreams streams(const Request& request, std::string_view video, std::string_view text) {
  TokenStreams list = {{video, request.video()}};
  if (request.text_tokens > 0) list.push_back({text, request.words()});
  return list;
}

// Modulations and gates of the attention, and of the feed-forward network.
TokenStreams around_attention(const Request& request) { return streams(request, "video", "text"); }
TokenStreams around_ffn(const Request& request) { return streams(request, "ffn_video", "ffn_text"); }
// Weights and head norms.
TokenStreams weights(const Request& request) {
  if (request.block == LayerBlock::kDoubleStream) return streams(request, "video", "text");
  return {{"", request.all_inner()}};
}

// Where weights are cut, shares of a sum.
ValueId feed_forward(LayerParts& parts, const TokenStreams& weights, ValueId h) {
  return parts.run("w2", weights, {parts.run("gelu", weights, {parts.run("w1", weights, {h})})});
}

BlockEntry project(LayerParts& parts, const TokenStreams& weights, ValueId x, ValueId h) {
  BlockEntry entry;
  entry.x = x;
  entry.h = h;
  entry.q = parts.run("head_rms_rope", weights, {parts.run("wq", weights, {h})});
  entry.kv = parts.run("head_rms_rope", weights, {parts.run("wkv", weights, {h})});
  return entry;
}

}  // namespace

BlockEntry enter_streams(LayerParts& parts, ValueId x) {
  const Request& request = parts.request();
  return project(parts, weights(request), x, parts.gather(parts.run("modulate", around_attention(request), {x})));
}

ValueId leave_streams(LayerParts& parts, const BlockEntry& entry, ValueId o) {
  const Request& request = parts.request();
  const ValueId y = parts.join(parts.run("wo", weights(request), {o}));
  const ValueId x = parts.run("gate", around_attention(request), {entry.x, y});
  const ValueId h = parts.gather(parts.run("modulate", around_ffn(request), {x}));
  return parts.run("gate", around_ffn(request), {x, parts.join(feed_forward(parts, weights(request), h))});
}

BlockEntry enter_single_stream(LayerParts& parts, ValueId x) {
  return project(parts, weights(parts.request()), x, parts.gather(parts.run("modulate", "", {x})));
}

ValueId leave_single_stream(LayerParts& parts, const BlockEntry& entry, ValueId o) {
  const ValueId y = parts.run("wo", "", {o});
  std::vector<ValueId> operands = parts.join_all({y, feed_forward(parts, weights(parts.request()), entry.h)});
  operands.insert(operands.begin(), entry.x);
  return parts.run("gate", "", operands);
}

}  // namespace spscope
