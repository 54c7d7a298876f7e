// Pattern `paro`: masks as PAROAttention calibrates them offline. Each head reorders the axes of the video so that its
// attention becomes local, and keeps the highest entries of the block map; some heads end up nearly empty, some full.
//
// Head densities are Beta(kappa mu, kappa (1 - mu)), shifted in log-odds so that their mean is the wanted density mu.
// Within a head the score of (i, j) is the negative anisotropic distance of the two blocks in that head's axis order,
// plus a row bias, a few sink columns, and a preference for parts of the sequence that all heads of a layer share.
//
// The axis orders are those of PAROAttention (arXiv 2506.16054); distance, sinks and row bias are assumed. Fitted to
// the imbalance over 8 ranks that db-SP reports at density 0.414 (docs/masks.md): kappa to U8R1 (3.6 for
// Wan2.1-14B, 1.3 for CogVideoX1.5), the strength of the shared preference to U1R8, U4R2 and U2R4 (0.027 and 0.045).
// Without the shared preference, heads of different axis order average out.
//
// Static over denoise steps, except that the steps fall into `time_groups` groups with masks of their own: the geometry
// of a head stays, its density drifts a little. The mean density is met within 0.01 from 100 blocks on. The diagonal
// and, when the last video block is ragged, its row and column are always active.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

enum Purpose { kDensity = 1, kGeometry = 2, kDrift = 3, kRowProfile = 4, kKeyProfile = 5 };

constexpr float kAlways = std::numeric_limits<float>::infinity();
constexpr double kDriftSigma = 0.25;    // log-odds of a head's density, from one time group to the next
constexpr double kScaleSigma = 0.8;     // log of the locality scale along each axis
constexpr double kRowBiasSigma = 0.15;  // in units of the distance that the scale makes

double log_odds(double p) {
  const double inside = std::clamp(p, 1e-6, 1 - 1e-6);
  return std::log(inside / (1 - inside));
}
double from_log_odds(double x) { return 1 / (1 + std::exp(-x)); }

// Shifts all densities by one amount of log-odds until their mean is `mean`.
void meet_mean(std::vector<double>& densities, double mean) {
  double low = -40, high = 40;
  for (int round = 0; round < 60; ++round) {
    const double shift = (low + high) / 2;
    double sum = 0;
    for (double d : densities) sum += from_log_odds(log_odds(d) + shift);
    (sum < mean * static_cast<double>(densities.size()) ? low : high) = shift;
  }
  for (double& d : densities) d = from_log_odds(log_odds(d) + low);
}

int time_group(const PatternRequest& request) {
  const int groups = request.parameters.integer("time_groups");
  const int step = std::clamp(request.denoise_step, 0, std::max(0, request.denoise_steps - 1));
  return static_cast<int>(static_cast<std::int64_t>(step) * groups / std::max(1, request.denoise_steps));
}

std::vector<double> head_densities(const PatternRequest& request) {
  const double mean = video_density(request);
  if (mean <= 0 || mean >= 1) return std::vector<double>(request.heads, mean);
  const double kappa = request.parameters.real("kappa");
  std::vector<double> densities(request.heads);
  for (int head = 0; head < request.heads; ++head) {
    double x = log_odds(rng_of(request, head, kDensity).beta(kappa * mean, kappa * (1 - mean)));
    Rng drift = rng_of(request, head, kDrift);
    for (int group = 0; group < time_group(request); ++group) x += kDriftSigma * drift.normal();
    densities[head] = from_log_odds(x);
  }
  meet_mean(densities, mean);
  return densities;
}

// What makes one head look as it does.
struct HeadShape {
  BlockPositions positions;           // divided by the head's scales
  std::vector<float> row_bias, sink;  // by block
};

HeadShape head_shape(const PatternRequest& request, int head) {
  constexpr std::array<std::array<int, 3>, 6> orders = {
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  Rng rng = rng_of(request, head, kGeometry);
  HeadShape shape{block_positions(request, orders[rng.below(6)]), {}, {}};
  const std::size_t blocks = shape.positions.along[0].size();
  float length = 0;  // of the video's diagonal, in the head's scales
  for (std::vector<float>& along : shape.positions.along) {
    const float scale = static_cast<float>(std::exp(kScaleSigma * rng.normal()));
    for (float& x : along) x /= scale;
    length += 1 / (scale * scale);
  }
  length = std::sqrt(length);
  shape.row_bias.resize(blocks);
  for (float& bias : shape.row_bias) bias = static_cast<float>(kRowBiasSigma * rng.normal());
  shape.sink.assign(blocks, 0.0F);
  const std::int64_t num_sinks = 1 + rng.below(12);
  for (std::int64_t i = 0; i < num_sinks; ++i) {
    shape.sink[rng.below(static_cast<std::int64_t>(blocks))] = static_cast<float>(0.3 + 0.7 * rng.uniform());
  }
  const double strength = request.parameters.real("profile");
  const std::vector<float> rows = layer_profile(request, kRowProfile, strength, blocks),
                           keys = layer_profile(request, kKeyProfile, strength, blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    shape.row_bias[i] += length * rows[i];
    shape.sink[i] += length * keys[i];
  }
  return shape;
}

void score_row(const HeadShape& shape, bool last_is_dense, std::size_t i, std::span<float> row) {
  const std::size_t blocks = row.size();
  if (last_is_dense && i + 1 == blocks) return std::fill(row.begin(), row.end(), kAlways);
  const auto& [x, y, z] = shape.positions.along;
  const float xi = x[i], yi = y[i], zi = z[i], bias = shape.row_bias[i];
  for (std::size_t j = 0; j < blocks; ++j) {
    const float dx = xi - x[j], dy = yi - y[j], dz = zi - z[j];
    row[j] = bias + shape.sink[j] - std::sqrt(dx * dx + dy * dy + dz * dz);
  }
  row[i] = kAlways;
  if (last_is_dense) row[blocks - 1] = kAlways;
}

}  // namespace

std::vector<Parameter> parameters_paro() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(
      Parameter::real("kappa", 3.6, 0.5, 1e4, "evenness of the head densities: 3.6 is Wan2.1, 1.3 CogVideoX1.5"));
  rows.push_back(Parameter::real(
      "profile", 0.027, 0, 10,
      "strength of the preference for rows and keys that all heads share: 0.027 is Wan2.1, 0.045 CogVideoX1.5"));
  rows.push_back(Parameter::integer("time_groups", 4, 1, 1000, "", "groups of denoise steps with masks of their own"));
  return rows;
}

std::vector<Problem> check_paro(const PatternRequest& request) {
  return check_request(request, {.bytes_per_head = sizeof(double), .bytes_per_block = 0});
}

BlockMask generate_paro(const PatternRequest& request) {
  if (is_warmup(request)) return all_active(request);
  BlockMask mask(request.heads, block_starts(request));
  const std::size_t blocks = num_video_blocks(request);
  const bool last_is_dense = (request.tokens() - request.text_tokens) % request.block != 0;
  const std::vector<double> densities = head_densities(request);
  const auto area = static_cast<std::int64_t>(blocks * blocks);
  std::vector<float> scores(blocks);
  for (int head = 0; head < request.heads; ++head) {
    const HeadShape shape = head_shape(request, head);
    const ScoreRow score = [&](std::size_t q, std::span<float> row) { score_row(shape, last_is_dense, q, row); };
    const auto wanted = static_cast<std::int64_t>(std::llround(densities[head] * static_cast<double>(area)));
    const float threshold = kth_highest(blocks, blocks, std::clamp<std::int64_t>(wanted, 1, area), score).threshold;
    for (std::size_t q = 0; q < blocks; ++q) {
      score(q, scores);
      set_at_least(scores, threshold, mask.mutable_row(head, static_cast<int>(q)));
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
