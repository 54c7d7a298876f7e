#include "backend/mask/softmax_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

enum Purpose { kTemperature = 1, kGeometry = 2, kRows = 3 };

constexpr double kScaleSigma = 0.8, kSinkStrength = 0.25;
constexpr double kRunPersistence = 0.7;
constexpr int kSampledRows = 12, kBisections = 14;

struct HeadShape {
  double log_temperature;
  BlockPositions positions;            // divided by the head's scales
  std::vector<float> sink;             // strength of a key block, -inf where the column is dense
  std::vector<float> row_factor;       // of the temperature, by group of rows; empty: 1
  std::vector<bool> dense_row;         // by group of rows
  std::vector<std::uint64_t> columns;  // dense columns, as bits
};

// A two-state chain whose `true` runs last 1 / (1 - persistence) blocks and cover `fraction` of all.
std::vector<bool> runs(Rng& rng, std::size_t size, double fraction) {
  const double start = fraction * (1 - kRunPersistence) / (1 - fraction);
  std::vector<bool> inside(size);
  bool now = rng.uniform() < fraction;
  for (std::size_t i = 0; i < size; ++i) {
    inside[i] = now;
    now = rng.uniform() < (now ? kRunPersistence : start);
  }
  return inside;
}

HeadShape head_shape(const PatternRequest& request, const SoftmaxRows& settings, int head) {
  Rng rng = rng_of(request, head, kGeometry);
  HeadShape shape;
  shape.log_temperature = settings.head_spread * evolving_normal(request, head, kTemperature, settings.drift);
  shape.positions = block_positions(request, {0, 1, 2});
  const std::size_t blocks = shape.positions.along[0].size();
  for (std::vector<float>& along : shape.positions.along) {
    const float scale = static_cast<float>(std::exp(kScaleSigma * rng.normal()));
    for (float& x : along) x /= scale;
  }
  // Dense rows and columns may take only part of a low density.
  const double most = settings.most_dissimilar * std::min(1.0, request.density / 0.3);
  const std::vector<bool> dense_column = runs(rng, blocks, most * rng.uniform());
  const std::size_t groups = (blocks + settings.rows_together - 1) / settings.rows_together;
  shape.dense_row = runs(rng, groups, most * rng.uniform());
  shape.columns.assign((blocks + 63) / 64, 0);
  for (std::size_t j = 0; j < blocks; ++j) {
    const float strength = static_cast<float>(kSinkStrength * rng.normal());
    shape.sink.push_back(dense_column[j] ? -std::numeric_limits<float>::infinity() : strength);
    if (dense_column[j]) shape.columns[j / 64] |= std::uint64_t{1} << (j % 64);
  }
  if (settings.row_spread == 0) return shape;
  Rng rows = rng_of(request, head, kRows);
  for (std::size_t group = 0; group < groups; ++group) {
    shape.row_factor.push_back(static_cast<float>(std::exp(settings.row_spread * rows.normal())));
  }
  return shape;
}

// Selects the key blocks of query rows, one group of equal rows at a time.
class RowSelector {
 public:
  RowSelector(double cdf, int rows_together) : cdf_(cdf), rows_together_(rows_together) {}

  // Adds to `row`, which has the words of a row of video blocks. Returns the number of active blocks.
  int select(const HeadShape& shape, double factor, std::size_t group, std::span<std::uint64_t> row) {
    const std::size_t blocks = shape.sink.size();
    const std::size_t begin = group * rows_together_, end = std::min(blocks, begin + rows_together_);
    const auto& [x, y, z] = shape.positions.along;
    const std::size_t i = (begin + end - 1) / 2, i2 = (begin + end) / 2;  // the middle of the group
    const float xi = (x[i] + x[i2]) / 2, yi = (y[i] + y[i2]) / 2, zi = (z[i] + z[i2]) / 2;
    const float row_factor = shape.row_factor.empty() ? 1.0F : shape.row_factor[group];
    const float inverse = static_cast<float>(1 / (factor * std::exp(shape.log_temperature))) / row_factor;
    logits_.resize(blocks);
    for (std::size_t j = 0; j < blocks; ++j) {
      const float dx = xi - x[j], dy = yi - y[j], dz = zi - z[j];
      logits_[j] = inverse * (shape.sink[j] - std::sqrt(dx * dx + dy * dy + dz * dz));
    }
    int active = top_.select(logits_, cdf_, row);
    for (std::size_t w = 0; w < shape.columns.size(); ++w) {
      row[w] |= shape.columns[w];
      active += std::popcount(shape.columns[w]);
    }
    return active;
  }

 private:
  double cdf_;
  int rows_together_;
  TopCdf top_;
  std::vector<float> logits_;
};

// Mean density over heads that this factor gives, from a few similar rows of each head.
double sampled_density(const std::vector<HeadShape>& shapes, double factor, RowSelector& selector) {
  double sum = 0;
  std::vector<std::uint64_t> row;
  for (const HeadShape& shape : shapes) {
    const std::size_t groups = shape.dense_row.size(), stride = std::max<std::size_t>(1, groups / kSampledRows);
    double active = 0, rows = 0;
    for (std::size_t group = stride / 2; group < groups; group += stride) {
      if (shape.dense_row[group]) continue;
      row.assign(shape.columns.size(), 0);
      active += selector.select(shape, factor, group, row);
      rows += 1;
    }
    const auto dense = static_cast<double>(std::count(shape.dense_row.begin(), shape.dense_row.end(), true));
    const double dense_share = dense / static_cast<double>(groups);
    const double similar = rows > 0 ? active / (rows * static_cast<double>(shape.sink.size())) : 1;
    sum += dense_share + (1 - dense_share) * similar;
  }
  return sum / static_cast<double>(shapes.size());
}

double find_factor(const std::vector<HeadShape>& shapes, double density, RowSelector& selector) {
  double low = std::log(1e-4), high = std::log(1e4);
  for (int round = 0; round < kBisections; ++round) {
    const double middle = (low + high) / 2;
    (sampled_density(shapes, std::exp(middle), selector) < density ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

void fill_head(const HeadShape& shape, double factor, RowSelector& selector, int rows_together, int head,
               BlockMask& mask) {
  const auto blocks = static_cast<std::int32_t>(shape.sink.size());
  std::vector<std::uint64_t> row;
  for (std::int32_t begin = 0; begin < blocks; begin += rows_together) {
    const std::size_t group = begin / rows_together;
    row.assign(shape.columns.size(), 0);
    if (shape.dense_row[group]) {
      for (std::int32_t j = 0; j < blocks; ++j) row[j / 64] |= std::uint64_t{1} << (j % 64);
    } else {
      selector.select(shape, factor, group, row);
    }
    for (std::int32_t q = begin; q < std::min(blocks, begin + rows_together); ++q) {
      std::copy(row.begin(), row.end(), mask.mutable_row(head, q).begin());
    }
  }
}

}  // namespace

std::vector<Problem> check_softmax_rows(const PatternRequest& request) {
  constexpr std::int64_t kFloats = 5 * 2 * sizeof(float);  // in vectors that may have twice the capacity
  return check_request(request, {.bytes_per_head = sizeof(HeadShape), .bytes_per_block = kFloats + 1});
}

BlockMask generate_softmax_rows(const PatternRequest& request, const SoftmaxRows& settings) {
  const double density = video_density(request);
  if (density >= 1) return all_active(request);
  // Even a flat softmax keeps no more than `cdf`, so a high density needs a higher one.
  const double cdf = density > 0.8 ? std::max(settings.cdf, (1 + density) / 2) : settings.cdf;
  RowSelector selector(cdf, settings.rows_together);
  std::vector<HeadShape> shapes;
  for (int head = 0; head < request.heads; ++head) shapes.push_back(head_shape(request, settings, head));
  const double factor = find_factor(shapes, density, selector);
  BlockMask mask(request.heads, block_starts(request));
  for (int head = 0; head < request.heads; ++head) {
    fill_head(shapes[head], factor, selector, settings.rows_together, head, mask);
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
