#include "tests/conformance/workloads.h"

#include <cstddef>

#include "backend/plan/layer_kernels.h"

namespace spscope {
namespace {

constexpr int kFfn = 37;  // of whole layers

// How masks are drawn: those that run, and others that may be known in their place.
struct Draw {
  double density;
  std::uint64_t seed;
};
constexpr Draw kExecuted = {0.5, 7}, kOther = {0.35, 8};

BlockMask make_mask(const Pattern& pattern, const Draw& draw, int heads, std::array<int, 3> grid, int block,
                    int text_tokens) {
  PatternRequest wanted;
  wanted.heads = heads;
  wanted.grid = grid;
  wanted.block = block;
  wanted.text_tokens = text_tokens;
  wanted.density = draw.density;
  wanted.seed = draw.seed;
  wanted.parameters = Parameters(pattern.parameters());
  return pattern.generate(wanted);
}

BlockMask inner_mask(const TestedWorkload& w, const Pattern& pattern, const Draw& draw) {
  const std::array<int, 3> spatial = w.spatiotemporal ? std::array{1, w.grid[1], w.grid[2]} : w.grid;
  return make_mask(pattern, draw, w.heads, spatial, w.block, w.text_tokens);
}
BlockMask temporal_mask(const TestedWorkload& w, const Pattern& pattern, const Draw& draw) {
  return make_mask(pattern, draw, w.heads, {w.grid[0], 1, 1}, 2, 0);
}

// In place of the masks that run: other ones, or nothing.
void replace_known_masks(Request& request, const TestedWorkload& w, const Pattern& pattern, Known known) {
  for (auto& mask : request.known_masks) mask = nullptr;
  if (known == Known::kNothing) return;
  request.known_masks[1] = std::make_shared<MaskCounter>(request.sets, inner_mask(w, pattern, kOther));
  if (w.spatiotemporal)
    request.known_masks[0] = std::make_shared<MaskCounter>(request.sets, temporal_mask(w, pattern, kOther));
}

// Every choice of one parameter, where choices are few and known.
std::vector<ParameterValue> values_of(const Parameter& parameter, int ranks) {
  std::vector<ParameterValue> values = {parameter.default_value};
  if (std::holds_alternative<std::int64_t>(parameter.default_value) && parameter.unit == "ranks")
    for (int degree = 1; degree <= ranks; ++degree)
      if (ranks % degree == 0 && ParameterValue(std::int64_t{degree}) != parameter.default_value)
        values.emplace_back(std::int64_t{degree});
  if (parameter.unit == "pieces") values.insert(values.end(), {std::int64_t{2}, std::int64_t{3}});
  if (const bool* flag = std::get_if<bool>(&parameter.default_value)) values.emplace_back(!*flag);
  for (const std::string& choice : parameter.choices)
    if (ParameterValue(choice) != parameter.default_value) values.emplace_back(choice);
  return values;
}

struct Shape {
  int heads, head_dim;
  std::array<int, 3> grid;
  int block;
};
constexpr Shape kSmall = {3, 2, {1, 3, 7}, 4}, kVideo = {5, 6, {2, 3, 7}, 8}, kPicture = {5, 8, {1, 7, 6}, 8};

constexpr TestedWorkload layer(std::string_view name, LayerBlock block_of_layer, const Shape& shape,
                               TestedWorkload rest = {}) {
  rest.name = name;
  rest.block_of_layer = block_of_layer;
  rest.heads = shape.heads;
  rest.head_dim = shape.head_dim;
  rest.grid = shape.grid;
  rest.block = shape.block;
  return rest;
}

constexpr TestedWorkload kWorkloads[] = {
    // Wan2.1-1.3B at 480p: 12 heads on 8 ranks; 32,760 tokens are 56 mod 64 and 8 mod 16.
    {"wan_480p", 12, 8, {2, 4, 31}, 64},
    // Wan2.1-14B at 720p: 40 heads are 8 mod 16; 75,600 tokens are 16 mod 64 and 0 mod 16.
    {"wan_720p", 24, 4, {3, 7, 16}, 64},
    // The same tokens in blocks of 128: 80 mod 128.
    {"wan_720p_block_128", 6, 16, {3, 7, 16}, 128},
    // CogVideoX-2B: 30 heads are 2 mod 4, a height of 30 is 2 mod 4.
    {"cogvideox", 6, 8, {3, 6, 10}, 16},
    // SD3.5-large: 38 heads are 2 mod 4 and 6 mod 8; an odd head dim.
    {"sd35", 14, 5, {1, 12, 11}, 32},
    // 226 text tokens behind 57,600 video tokens are 2 mod 8 behind 0 mod 8; two samples.
    {"text_shard", 12, 8, {2, 6, 8}, 16, 10, TextLayout::kShard, 2},
    {"text_replicate", 12, 8, {2, 6, 8}, 16, 10, TextLayout::kReplicate},
    // Latte, Open-Sora: attention along both axes, fewer heads than ranks.
    {"spatiotemporal", 3, 8, {7, 5, 8}, 16, 0, TextLayout::kShard, 1, true},
    // One ragged block, about a token a rank.
    {"one_block", 2, 8, {1, 1, 17}, 64},
    // Whole layers: 5 heads on up to 8 ranks, odd sizes everywhere; an odd head dim leaves a channel unturned.
    layer("layer_wan", LayerBlock::kWan, {5, 7, {2, 3, 7}, 8}, {.batch = 2, .context_tokens = 5}),
    layer("layer_wan_without_text", LayerBlock::kWan, kSmall, {.dense_only = true}),
    layer("layer_joint_without_text", LayerBlock::kJoint, kSmall, {.dense_only = true}),
    layer("layer_joint_text_first", LayerBlock::kJoint, kVideo, {.text_tokens = 5, .text_first = true}),
    layer("layer_joint_text_replicate", LayerBlock::kJoint, kVideo, {.text_tokens = 5, .text = TextLayout::kReplicate}),
    layer("layer_double", LayerBlock::kDoubleStream, kPicture, {.text_tokens = 5, .batch = 2}),
    layer("layer_double_text_replicate", LayerBlock::kDoubleStream, kPicture,
          {.text_tokens = 5, .text = TextLayout::kReplicate}),
    layer("layer_double_without_text", LayerBlock::kDoubleStream, kPicture),
    layer("layer_double_text_first", LayerBlock::kDoubleStream, {5, 2, {1, 3, 7}, 4},
          {.text_tokens = 5, .text_first = true, .dense_only = true}),
    layer("layer_single", LayerBlock::kSingleStream, kPicture, {.text_tokens = 5}),
    layer("layer_single_text_replicate", LayerBlock::kSingleStream, kPicture,
          {.text_tokens = 5, .text = TextLayout::kReplicate}),
    layer("layer_spatiotemporal", LayerBlock::kSpatialTemporal, {5, 6, {7, 3, 5}, 4}, {.spatiotemporal = true}),
    layer("layer_spatiotemporal_two_mlps", LayerBlock::kSpatialTemporal, {5, 6, {5, 3, 5}, 4},
          {.batch = 2, .spatiotemporal = true, .context_tokens = 5, .mlps = 2}),
};

}  // namespace

std::span<const TestedWorkload> workloads() { return kWorkloads; }

std::span<const int> rank_counts(const TestedWorkload& workload) {
  static constexpr int all[] = {1, 2, 3, 4, 5, 6, 8, 16}, of_layers[] = {1, 2, 3, 4, 5, 8};
  return workload.whole_layer() ? std::span<const int>(of_layers) : std::span<const int>(all);
}

bool runs_on(const TestedWorkload& workload, const Pattern& pattern) {
  if (pattern.name == "dense") return true;
  if (workload.dense_only) return false;
  if (pattern.name == "sparge") return true;
  if (workload.whole_layer()) return false;
  if (pattern.name == "headwise") return true;
  // A plan knows of a pattern only which tiles are active: each meets three of the nine workloads of attention.
  constexpr std::ptrdiff_t kEvery = 3;
  return ((&workload - kWorkloads) + (&pattern - patterns().data())) % kEvery == 0;
}

Request make_request(const TestedWorkload& w, const Pattern& pattern, int ranks, Dtype dtype, Known known) {
  Request request = Request::attention(ranks, w.heads, w.head_dim, inner_mask(w, pattern, kExecuted), dtype);
  // Nodes of two, so that algorithms over nodes differ from those inside one.
  request.ranks_per_node = ranks > 2 && ranks % 2 == 0 ? 2 : 0;
  request.text_tokens = w.text_tokens;
  request.text = w.text;
  request.batch = w.batch;
  request.grid = w.grid;
  if (w.spatiotemporal) {
    request.outer_tokens = w.grid[0];
    request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, temporal_mask(w, pattern, kExecuted));
    request.known_masks[0] = request.executed_masks[0];
  }
  if (known != Known::kExecutedMask) replace_known_masks(request, w, pattern, known);
  if (!w.whole_layer()) return request;
  request.block = w.block_of_layer;
  request.ffn = kFfn;
  request.text_first = w.text_first;
  request.context_tokens = w.context_tokens;
  request.mlps = w.mlps;
  request.kernels = layer_kernels(request);
  return request;
}

std::vector<Parameters> all_settings(const std::vector<Parameter>& parameters, int ranks) {
  std::vector<Parameters> degrees = {Parameters(parameters)};
  for (const Parameter& parameter : parameters) {
    if (parameter.unit != "ranks") continue;
    std::vector<Parameters> next;
    for (const Parameters& setting : degrees)
      for (const ParameterValue& value : values_of(parameter, ranks)) {
        next.push_back(setting);
        next.back().set(parameter.name, value);
      }
    degrees = std::move(next);
  }
  std::vector<Parameters> settings = degrees;
  for (const Parameter& parameter : parameters)
    for (const ParameterValue& value : values_of(parameter, ranks))
      for (const Parameters& setting : degrees) {
        if (parameter.unit == "ranks" || value == parameter.default_value) break;
        settings.push_back(setting);
        settings.back().set(parameter.name, value);
      }
  return settings;
}

}  // namespace spscope
