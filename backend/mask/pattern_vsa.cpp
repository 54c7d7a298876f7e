// Pattern `vsa`: Video Sparse Attention (arXiv 2505.13389). Tokens are ordered by cubes, 4 x 4 x 4 for blocks of 64; a
// block is a cube, smaller at the far borders, and every block of queries keeps the ceil(density x cubes) best blocks
// of keys. So rows and heads are even; only columns, and with them ring steps, are not.
//
// The rule is the paper's. Scores are assumed: negative distance of cubes over a scale by head and axis, plus a
// strength of each key cube that drifts over denoise steps, plus a preference for parts of the video that all heads of
// a layer share. For other block sizes the extents of the cube double in turn, width first, as far as the video
// reaches.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"
#include "backend/mask/tile_order.h"

namespace spscope {
namespace {

enum Purpose { kGeometry = 1, kProfile = 2, kFactor = 3 };  // factors of key strength: kFactor and the next

constexpr double kScaleSigma = 0.5, kKeyStrength = 0.3;
constexpr int kSampledRows = 12;
constexpr int kFactors = 4;  // a key's strength is a mix of this many evolving values

// The largest cube of at most `block` tokens.
std::array<int, 3> cube_of(const PatternRequest& request) {
  std::array<int, 3> cube = {1, 1, 1};
  int tokens = 1;
  for (bool grown = true; grown;) {
    grown = false;
    for (int axis : {2, 1, 0}) {
      if (2 * tokens > request.block || cube[axis] >= request.grid[axis]) continue;
      cube[axis] *= 2;
      tokens *= 2;
      grown = true;
    }
  }
  return cube;
}

struct HeadShape {
  std::array<std::vector<float>, 3> along;  // centres of the cubes over the head's scales, by tile of each axis
  std::vector<float> strength;              // by key cube
};

HeadShape head_shape(const PatternRequest& request, const TileOrder& order, const std::vector<float>& profile,
                     int head) {
  Rng rng = rng_of(request, head, kGeometry);
  HeadShape shape;
  for (int axis = 0; axis < 3; ++axis) {
    const double scale = std::exp(kScaleSigma * rng.normal());
    double begin = 0;
    for (std::int32_t size : order.sizes[axis]) {
      shape.along[axis].push_back(static_cast<float>((begin + size / 2.0) / (request.grid[axis] * scale)));
      begin += size;
    }
  }
  std::array<double, kFactors> factors;
  for (int i = 0; i < kFactors; ++i) {
    factors[i] = evolving_normal(request, head, kFactor + i, request.parameters.real("drift"));
  }
  const double norm = kKeyStrength / std::sqrt(kFactors);
  for (float shared : profile) {
    double own = 0;
    for (double factor : factors) own += factor * rng.normal();
    shape.strength.push_back(shared + static_cast<float>(norm * own));
  }
  return shape;
}

void score_row(const HeadShape& shape, const std::array<float, 3>& at, std::span<float> scores) {
  std::size_t key = 0;
  for (float z : shape.along[0]) {
    const float dz = (z - at[0]) * (z - at[0]);
    for (float y : shape.along[1]) {
      const float dzy = dz + (y - at[1]) * (y - at[1]);
      for (float x : shape.along[2]) {
        scores[key] = shape.strength[key] - std::sqrt(dzy + (x - at[2]) * (x - at[2]));
        ++key;
      }
    }
  }
}

// Calls visit(q, scores) for every `stride`-th row of queries.
template <typename Visit>
void for_each_row(const HeadShape& shape, std::int32_t stride, Visit&& visit) {
  std::vector<float> scores(shape.strength.size());
  std::int32_t q = 0;
  for (float z : shape.along[0]) {
    for (float y : shape.along[1]) {
      for (float x : shape.along[2]) {
        if (q++ % stride != 0) continue;
        score_row(shape, {z, y, x}, scores);
        visit(q - 1, scores);
      }
    }
  }
}

// The smallest number of keys a row whose share of tokens reaches `density`, from sampled rows: ceil(density x cubes)
// when all cubes are equal.
std::size_t num_keys(const std::vector<HeadShape>& shapes, const TileOrder& order, double density) {
  const std::int32_t cubes = order.tiles();
  std::vector<double> tokens(cubes, 0);  // of the best key, the second best, ..., over the sampled rows
  double all_tokens = 0;
  std::vector<std::int32_t> keys(cubes);
  for (const HeadShape& shape : shapes) {
    for_each_row(shape, std::max(1, cubes / kSampledRows), [&](std::int32_t, const std::vector<float>& scores) {
      std::iota(keys.begin(), keys.end(), 0);
      std::ranges::sort(keys, [&](std::int32_t a, std::int32_t b) { return scores[a] > scores[b]; });
      for (std::int32_t i = 0; i < cubes; ++i) tokens[i] += order.starts[keys[i] + 1] - order.starts[keys[i]];
      all_tokens += order.starts.back();
    });
  }
  double reached = tokens[0];
  std::size_t kept = 1;
  for (; kept < tokens.size() && reached < (density - 1e-9) * all_tokens; ++kept) reached += tokens[kept];
  return kept;
}

}  // namespace

std::vector<Parameter> parameters_vsa() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::real("profile", 0.1, 0, 10, "strength of the preference for keys that all heads share"));
  rows.push_back(drift_parameter());
  return rows;
}

std::vector<Problem> check_vsa(const PatternRequest& request) {
  std::vector<Problem> problems = check_request(request);
  if (!problems.empty()) return problems;
  const std::int64_t cubes = num_tiles(request.grid, cube_of(request));
  return check_request(request, {.bytes_per_head = sizeof(HeadShape), .bytes_per_block = 12, .video_blocks = cubes});
}

BlockMask generate_vsa(const PatternRequest& request) {
  const TileOrder order = tile_order(request.grid, cube_of(request));
  std::vector<std::int32_t> starts = order.starts;
  append_text(starts, request);
  if (is_warmup(request)) return all_active(request.heads, std::move(starts));
  BlockMask mask(request.heads, std::move(starts));
  const std::vector<float> profile =
      layer_profile(request, kProfile, request.parameters.real("profile"), order.tiles());
  std::vector<HeadShape> shapes;
  for (int head = 0; head < request.heads; ++head) shapes.push_back(head_shape(request, order, profile, head));
  const std::size_t keys = num_keys(shapes, order, video_density(request));
  RowCut cut;
  for (int head = 0; head < request.heads; ++head) {
    for_each_row(shapes[head], 1, [&](std::int32_t q, const std::vector<float>& scores) {
      set_by_cut(scores, cut.find(scores, keys), mask.mutable_row(head, q));
    });
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
