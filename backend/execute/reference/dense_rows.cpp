#include "backend/execute/reference/dense_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "backend/base/check.h"
#include "backend/mask/block_mask.h"

namespace spscope {
namespace {

constexpr double kEpsilon = 1e-6, kReferenceTheta = 10000;
// Rows and columns of the weight that stay in the cache while all tokens pass.
constexpr std::int64_t kPanelRows = 64, kPanelColumns = 256;

}  // namespace

// Four rows of the weight at a time, so that a sum is read and written once for four products.
DenseRows dense_product(const DenseRows& x, const ParameterMatrix& weight) {
  SPSCOPE_CHECK(x.channels == weight.rows());
  DenseRows out(x.tokens, weight.columns());
  std::vector<float> stored(kPanelColumns);
  std::vector<double> panel(kPanelRows * kPanelColumns);
  for (std::int64_t c = 0; c < weight.columns(); c += kPanelColumns)
    for (std::int64_t r = 0; r < weight.rows(); r += kPanelRows) {
      const std::int64_t columns = std::min(kPanelColumns, weight.columns() - c);
      const std::int64_t rows = std::min(kPanelRows, weight.rows() - r);
      std::ranges::fill(panel, 0.0);
      for (std::int64_t i = 0; i < rows; ++i) {
        weight.read_row(r + i, c, std::span(stored).first(static_cast<std::size_t>(columns)));
        std::copy_n(stored.begin(), columns, panel.begin() + i * kPanelColumns);
      }
      for (std::int64_t t = 0; t < x.tokens; ++t) {
        double factor[kPanelRows] = {};
        std::copy_n(x.row(t) + r, rows, factor);
        double* sums = out.row(t) + c;
        for (std::int64_t i = 0; i < rows; i += 4) {
          const double *p = panel.data() + i * kPanelColumns, *a = factor + i;
          for (std::int64_t j = 0; j < columns; ++j)
            sums[j] += a[0] * p[j] + a[1] * p[j + kPanelColumns] + a[2] * p[j + 2 * kPanelColumns] +
                       a[3] * p[j + 3 * kPanelColumns];
        }
      }
    }
  return out;
}

DenseRows dense_modulate(const DenseRows& x, std::span<const float> scale, std::span<const float> shift) {
  DenseRows out(x.tokens, x.channels);
  for (std::int64_t t = 0; t < x.tokens; ++t) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < x.channels; ++c) mean += x.row(t)[c] / static_cast<double>(x.channels);
    for (std::int64_t c = 0; c < x.channels; ++c)
      variance += (x.row(t)[c] - mean) * (x.row(t)[c] - mean) / static_cast<double>(x.channels);
    for (std::int64_t c = 0; c < x.channels; ++c) {
      const auto at = static_cast<std::size_t>(c);
      out.row(t)[c] = (x.row(t)[c] - mean) / std::sqrt(variance + kEpsilon) * (1.0 + scale[at]) + shift[at];
    }
  }
  return out;
}

void dense_rms(DenseRows& rows, const Request& request, std::int64_t stride, NormExtent extent,
               std::span<const float> weight) {
  const int dim = request.head_dim, heads = request.heads;
  const int together = extent == NormExtent::kAllHeads ? heads : 1;  // heads under one root
  for (std::int64_t t = 0; t < rows.tokens; ++t)
    for (int first = 0; first < heads; first += together) {
      double square = 0;
      for (int h = first; h < first + together; ++h)
        for (int i = 0; i < dim; ++i) square += std::pow(rows.row(t)[h * stride + i], 2);
      const double root = std::sqrt(square / (together * dim) + kEpsilon);
      for (int h = first; h < first + together; ++h)
        for (int i = 0; i < dim; ++i)
          rows.row(t)[h * stride + i] *= weight[static_cast<std::size_t>(h * dim + i)] / root;
    }
}

namespace {

// Angle of a pair of channels of a head at a token.
double angle_of(const Request& request, RotaryForm form, GridToken token, int pair) {
  const int even = request.head_dim - request.head_dim % 2;
  const auto turn = [&](int position, int first_channel, int channels) {
    return position * std::pow(kReferenceTheta, -(2.0 * pair - first_channel) / channels);
  };
  if (form == RotaryForm::kFrames) return turn(token.outer, 0, even);
  const int video = token.inner - (request.text_first ? request.text_tokens : 0);
  if (video < 0 || video >= request.inner_tokens - request.text_tokens) return 0;
  const int height = request.grid[1], width = request.grid[2];
  const int frame = video / (height * width), row = video / width % height, column = video % width;
  if (form == RotaryForm::kFrame) {
    const int of_columns = 2 * (request.head_dim / 4), of_rows = even - of_columns;
    return 2 * pair < of_rows ? turn(video / width, 0, of_rows) : turn(column, of_rows, of_columns);
  }
  const int of_each = 2 * (request.head_dim / 6), of_frames = even - 2 * of_each;
  if (2 * pair < of_frames) return turn(frame, 0, of_frames);
  if (2 * pair < of_frames + of_each) return turn(row, of_frames, of_each);
  return turn(column, of_frames + of_each, of_each);
}

}  // namespace

void dense_rotate(DenseRows& rows, const Request& request, std::int64_t stride, RotaryForm form,
                  std::span<const GridToken> tokens) {
  for (std::int64_t t = 0; t < rows.tokens; ++t)
    for (int pair = 0; pair < request.head_dim / 2; ++pair) {
      const double angle = angle_of(request, form, tokens[static_cast<std::size_t>(t)], pair);
      const double c = std::cos(angle), s = std::sin(angle);
      for (int h = 0; h < request.heads; ++h) {
        double* x = rows.row(t) + h * stride + 2 * pair;
        const double first = x[0], second = x[1];
        x[0] = first * c - second * s;
        x[1] = first * s + second * c;
      }
    }
}

namespace {

// Keys and values of one head of one sequence: k [dim][tokens], so that scores of neighbours are next to each other.
struct DenseHead {
  std::int64_t tokens = 0;
  int dim = 0;
  std::vector<double> k, v;

  DenseHead(int dim, std::int64_t tokens)
      : tokens(tokens), dim(dim), k(static_cast<std::size_t>(tokens * dim)), v(k.size()) {}
  void set(std::int64_t token, const double* of_token) {
    for (int i = 0; i < dim; ++i) k[static_cast<std::size_t>(i * tokens + token)] = of_token[i];
    std::copy_n(of_token + dim, dim, v.begin() + token * dim);
  }
  // softmax(q k / sqrt(dim)) v over the spans of tokens.
  void attend(const double* q, std::span<const Span> spans, std::vector<double>& scores, double* out) const;
};

void DenseHead::attend(const double* q, std::span<const Span> spans, std::vector<double>& scores, double* out) const {
  scores.assign(static_cast<std::size_t>(tokens), 0.0);
  double peak = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Span& span : spans) {
    for (int i = 0; i < dim; ++i) {
      const double factor = q[i] / std::sqrt(dim);
      const double* row = k.data() + i * tokens;
      for (std::int32_t t = span.begin; t < span.end; ++t) scores[static_cast<std::size_t>(t)] += factor * row[t];
    }
    peak = std::max(peak, *std::max_element(scores.begin() + span.begin, scores.begin() + span.end));
  }
  for (const Span& span : spans)
    for (std::int32_t t = span.begin; t < span.end; ++t) {
      const double p = std::exp(scores[static_cast<std::size_t>(t)] - peak);
      sum += p;
      for (int i = 0; i < dim; ++i) out[i] += p * v[static_cast<std::size_t>(t * dim + i)];
    }
  for (int i = 0; i < dim && sum > 0; ++i) out[i] /= sum;
}

}  // namespace

DenseRows dense_attention(const Request& request, AttendedAxis axis, const DenseRows& q,
                          std::span<const GridToken> queries, const DenseRows& kv,
                          std::span<const GridToken> key_tokens) {
  const bool inner = axis == AttendedAxis::kInner;
  const auto along = [&](GridToken t) { return inner ? t.inner : t.outer; };
  const auto across = [&](GridToken t) { return inner ? t.outer : t.inner; };
  const BlockMask& mask = request.executed_mask(axis).mask();
  const auto starts = mask.coarse_starts();
  const std::int64_t length = inner ? request.inner_tokens : request.outer_tokens;
  std::map<std::int32_t, std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> sequences;  // queries, keys
  for (std::size_t i = 0; i < queries.size(); ++i)
    sequences[across(queries[i])].first.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < key_tokens.size(); ++i)
    if (const auto found = sequences.find(across(key_tokens[i])); found != sequences.end())
      found->second.second.push_back(static_cast<std::int64_t>(i));
  DenseRows out(q.tokens, q.channels);
  std::vector<double> scores;
  std::vector<Span> active;
  for (const auto& [sequence, tokens] : sequences)
    for (int h = 0; h < request.heads; ++h) {
      DenseHead head(request.head_dim, length);
      for (const std::int64_t key : tokens.second)
        head.set(along(key_tokens[static_cast<std::size_t>(key)]), kv.row(key) + h * 2 * request.head_dim);
      for (const std::int64_t query : tokens.first) {
        const std::int32_t token = along(queries[static_cast<std::size_t>(query)]);
        const auto block = static_cast<std::int32_t>(std::ranges::upper_bound(starts, token) - starts.begin()) - 1;
        active.clear();
        for (std::int32_t b = 0; b < mask.coarse_blocks(); ++b)
          if (mask.active(h, block, b))
            active.push_back({starts[static_cast<std::size_t>(b)], starts[static_cast<std::size_t>(b) + 1]});
        head.attend(q.row(query) + h * request.head_dim, active, scores, out.row(query) + h * request.head_dim);
      }
    }
  return out;
}

DenseRows dense_text_attention(const Request& request, const DenseRows& q, const DenseRows& text) {
  DenseRows out(q.tokens, q.channels);
  std::vector<double> scores;
  const Span all[] = {{0, static_cast<std::int32_t>(text.tokens)}};
  for (int h = 0; h < request.heads; ++h) {
    DenseHead head(request.head_dim, text.tokens);
    for (std::int64_t t = 0; t < text.tokens; ++t) head.set(t, text.row(t) + h * 2 * request.head_dim);
    for (std::int64_t t = 0; t < q.tokens; ++t)
      head.attend(q.row(t) + h * request.head_dim, all, scores, out.row(t) + h * request.head_dim);
  }
  return out;
}

void dense_gelu(DenseRows& rows) {
  for (double& x : rows.data)
    x = 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

void dense_add(DenseRows& x, const DenseRows& y, std::span<const float> gate) {
  for (std::int64_t t = 0; t < x.tokens; ++t)
    for (std::int64_t c = 0; c < x.channels; ++c)
      x.row(t)[c] += (gate.empty() ? 1.0 : gate[static_cast<std::size_t>(c)]) * y.row(t)[c];
}

}  // namespace spscope
