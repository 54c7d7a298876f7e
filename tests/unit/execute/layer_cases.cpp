#include "tests/unit/execute/layer_cases.h"

#include <string>

namespace spscope::testing {
namespace {

// Random blocks of 16 video tokens, and one block of text that all meet.
BlockMask layer_mask(int heads, std::int32_t tokens, std::int32_t text, bool text_first) {
  std::vector<std::int32_t> starts = {0};
  if (text_first && text > 0) starts.push_back(text);
  while (starts.back() < tokens - (text_first ? 0 : text))
    starts.push_back(std::min(starts.back() + 16, tokens - (text_first ? 0 : text)));
  if (starts.back() < tokens) starts.push_back(tokens);
  BlockMask mask(heads, starts);
  const std::int32_t words = text == 0 ? -1 : text_first ? 0 : mask.blocks() - 1;
  Rng rng(3);
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (rng.uniform() < 0.6 || q == words || k == words) mask.set(head, q, k);
  return mask;
}

// A layer in the words of the kernel catalogue.
class HandLayer {
 public:
  explicit HandLayer(PlanBuilder& b) : b_(b), request_(b.request()) {}

  void wan();
  void joint();
  void double_stream();
  void single_stream();
  void spatial_temporal();
  // Heads and inner channels of the feed-forward network cut over ranks, which hold all tokens.
  void wan_by_weights();

 private:
  ValueId run(const std::string& name, const std::vector<ValueId>& values) { return b_.local(name, values); }
  Placement rows(Axis axis, bool by_outer = false) {
    const auto starts = request_.executed_mask().mask().block_starts();
    const auto blocks = static_cast<int>(starts.size()) - 1;
    const auto border = [&](int rank) { return starts[static_cast<std::size_t>(blocks * rank / request_.ranks)]; };
    return b_.place([&](int rank) {
      Box box = request_.whole(axis);
      if (by_outer)
        box.outer = b_.sets().even(box.outer, request_.ranks)[static_cast<std::size_t>(rank)];
      else  // at borders of blocks, which attention must not see cut
        box.inner = b_.sets().span(border(rank), border(rank + 1));
      return BoxList{box};
    });
  }
  Placement whole(Axis axis) {
    return b_.place([&](int) { return BoxList{request_.whole(axis)}; });
  }
  ValueId input() { return b_.input(kHiddenState, rows(Axis::kHidden), Axis::kHidden); }
  ValueId attend(ValueId q, ValueId kv, AttendedAxis axis = AttendedAxis::kInner) {
    return b_.attend_all(q, request_.ranks == 1 ? kv : b_.reshard(kv, whole(Axis::kHeads)), axis);
  }
  // Tokens of one stream, with `compute` on each, side by side.
  template <typename Compute>
  ValueId by_stream(const std::vector<ValueId>& values, Compute&& compute) {
    std::vector<ValueId> streams;
    for (const bool text : {false, true}) {
      std::vector<ValueId> parts;
      for (const ValueId value : values)
        parts.push_back(b_.narrow(value, only(value, text ? request_.words() : request_.video())));
      streams.push_back(compute(std::string(text ? "text" : "video"), parts));
    }
    return b_.narrow(b_.view(streams), rows(b_.plan().values[static_cast<std::size_t>(streams[0])].columns));
  }
  Placement only(ValueId value, SetId tokens) {
    const Placement all = b_.placement_of(value);
    return b_.place([&](int rank) {
      BoxList boxes(all.at(rank).begin(), all.at(rank).end());
      for (Box& box : boxes) box.inner = b_.sets().both(box.inner, tokens);
      return boxes;
    });
  }
  ValueId block(ValueId x, const std::string& part, AttendedAxis axis, bool ffn);

  PlanBuilder& b_;
  const Request& request_;
};

void HandLayer::wan() {
  ValueId x = input();
  const ValueId h = run("modulate.self", {x}), q = run("wq", {h}), kv = run("wkv", {h});
  const ValueId o = attend(run("rms_rope", {q, run("sumsq", {q})}), run("rms_rope", {kv, run("sumsq_k", {kv})}));
  x = run("gate.self", {x, run("wo", {o})});
  const ValueId cross = run("cross_wq", {run("modulate.cross", {x})});
  const ValueId read = run("cross_attention", {run("rms.cross", {cross, run("sumsq", {cross})})});
  x = run("residual", {x, run("cross_wo", {read})});
  x = run("gate.ffn", {x, run("w2", {run("gelu", {run("w1", {run("modulate.ffn", {x})})})})});
  b_.output(x, rows(Axis::kHidden));
}

void HandLayer::joint() {
  ValueId x = input();
  const auto modulate = [&](const std::string& ffn) {
    return by_stream({x}, [&](const std::string& part, const std::vector<ValueId>& values) {
      return run("modulate." + ffn + part, values);
    });
  };
  const auto gate = [&](const std::string& ffn, ValueId y) {
    x = by_stream({x, y}, [&](const std::string& part, const std::vector<ValueId>& values) {
      return run("gate." + ffn + part, values);
    });
  };
  const ValueId h = modulate("");
  gate("", run("wo", {attend(run("head_rms_rope", {run("wq", {h})}), run("head_rms_rope", {run("wkv", {h})}))}));
  gate("ffn_", run("w2", {run("gelu", {run("w1", {modulate("ffn_")})})}));
  b_.output(x, rows(Axis::kHidden));
}

void HandLayer::double_stream() {
  const ValueId x = input();
  const auto heads = [&](const std::string& weight) {
    return by_stream({x}, [&](const std::string& part, const std::vector<ValueId>& values) {
      const ValueId h = run("modulate." + part, values);
      return run("head_rms_rope." + part, {run(weight + "." + part, {h})});
    });
  };
  const ValueId o = attend(heads("wq"), heads("wkv"));
  const ValueId out = by_stream({x, o}, [&](const std::string& part, const std::vector<ValueId>& values) {
    const ValueId y = run("gate." + part, {values[0], run("wo." + part, {values[1]})});
    const ValueId f = run("gelu." + part, {run("w1." + part, {run("modulate.ffn_" + part, {y})})});
    return run("gate.ffn_" + part, {y, run("w2." + part, {f})});
  });
  b_.output(out, rows(Axis::kHidden));
}

void HandLayer::single_stream() {
  const ValueId x = input(), h = run("modulate", {x});
  const ValueId o = attend(run("head_rms_rope", {run("wq", {h})}), run("head_rms_rope", {run("wkv", {h})}));
  b_.output(run("gate", {x, run("wo", {o}), run("w2", {run("gelu", {run("w1", {h})})})}), rows(Axis::kHidden));
}

ValueId HandLayer::block(ValueId x, const std::string& part, AttendedAxis axis, bool ffn) {
  const ValueId h = run("modulate." + part, {x});
  const ValueId q = run("head_rms_rope." + part, {run("wq." + part, {h})});
  const ValueId kv = run("head_rms_rope." + part, {run("wkv." + part, {h})});
  x = run("gate." + part, {x, run("wo." + part, {b_.attend_all(q, kv, axis)})});
  const ValueId read = run("cross_attention." + part, {run("cross_wq." + part, {x})});
  x = run("residual", {x, run("cross_wo." + part, {read})});
  if (!ffn) return x;
  const ValueId f = run("gelu." + part, {run("w1." + part, {run("modulate." + part + "_ffn", {x})})});
  return run("gate." + part + "_ffn", {x, run("w2." + part, {f})});
}

void HandLayer::spatial_temporal() {
  ValueId x = b_.input(kHiddenState, rows(Axis::kHidden, true), Axis::kHidden);
  x = block(x, "spatial", AttendedAxis::kInner, request_.mlps == 2);
  if (request_.ranks > 1) x = b_.reshard(x, rows(Axis::kHidden));
  x = block(x, "temporal", AttendedAxis::kOuter, true);
  if (request_.ranks > 1) x = b_.reshard(x, rows(Axis::kHidden, true));
  b_.output(x, rows(Axis::kHidden, true));
}

// Every third head, so that a rank's columns are not next to each other.
void HandLayer::wan_by_weights() {
  std::vector<SetId> heads, ffn;
  const auto every = [&](std::int32_t count, int rank) {
    std::vector<std::int32_t> mine;
    for (std::int32_t i = rank; i < count; i += request_.ranks) mine.push_back(i);
    return b_.sets().indices(mine);
  };
  for (int rank = 0; rank < request_.ranks; ++rank) {
    heads.push_back(every(request_.heads, rank));
    ffn.push_back(every(request_.ffn, rank));
  }
  const auto add = [&](ValueId x, Axis axis) { return b_.reshard(b_.wait(b_.reduce(x, rows(axis))), whole(axis)); };
  ValueId x = b_.input(kHiddenState, whole(Axis::kHidden), Axis::kHidden);
  const ValueId h = run("modulate.self", {x}), q = b_.linear(h, "wq", heads), kv = b_.linear(h, "wkv", heads);
  const ValueId q_norm = add(run("sumsq", {q}), Axis::kStat), k_norm = add(run("sumsq_k", {kv}), Axis::kStat);
  const ValueId o = b_.attend_all(run("rms_rope", {q, q_norm}), run("rms_rope", {kv, k_norm}));
  x = run("gate.self", {x, add(run("wo", {o}), Axis::kHidden)});
  const ValueId cross = b_.linear(run("modulate.cross", {x}), "cross_wq", heads);
  const ValueId normed = run("rms.cross", {cross, add(run("sumsq", {cross}), Axis::kStat)});
  x = run("residual", {x, add(run("cross_wo", {run("cross_attention", {normed})}), Axis::kHidden)});
  const ValueId f = run("gelu", {b_.linear(run("modulate.ffn", {x}), "w1", ffn)});
  x = run("gate.ffn", {x, add(run("w2", {f}), Axis::kHidden)});
  b_.output(x, whole(Axis::kHidden));
}

}  // namespace

Request layer_request(const LayerCase& c) {
  const bool frames = c.block == LayerBlock::kSpatialTemporal;
  const bool joint = !frames && c.block != LayerBlock::kWan;
  const TokenGrid grid = {3, 5, 7};
  const std::int32_t text = joint ? c.text : 0, inner = frames ? 35 : 105 + text;
  Request request =
      Request::attention(c.ranks, c.heads, c.head_dim, layer_mask(c.heads, inner, text, c.text_first), c.dtype);
  request.block = c.block;
  request.batch = c.batch;
  request.grid = grid;
  request.ffn = c.ffn;
  request.text_tokens = text;
  request.text_first = c.text_first;
  request.context_tokens = c.context;
  request.mlps = c.mlps;
  if (frames) {
    request.outer_tokens = grid[0];
    request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, random_mask(c.heads, 3, 2, 0.8, 9));
    request.known_masks[0] = request.executed_masks[0];
  }
  request.kernels = layer_kernels(request);
  return request;
}

Plan hand_plan(const Request& request, bool by_weights) {
  PlanBuilder b(request);
  HandLayer layer(b);
  if (by_weights)
    layer.wan_by_weights();
  else if (request.block == LayerBlock::kWan)
    layer.wan();
  else if (request.block == LayerBlock::kJoint)
    layer.joint();
  else if (request.block == LayerBlock::kDoubleStream)
    layer.double_stream();
  else if (request.block == LayerBlock::kSingleStream)
    layer.single_stream();
  else
    layer.spatial_temporal();
  return b.take();
}

}  // namespace spscope::testing
