#include "backend/execute/calibrate/calibrate_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/median.h"

namespace spscope {
namespace {

constexpr std::size_t kMaxTerms = 8;
// A pivot below this share of the largest entry of its normalised matrix means that terms depend on each other.
constexpr double kSingular = 1e-12;

// Rows terms / value, with every column scaled to length 1: the target of each row is 1.
struct Scaled {
  std::vector<std::vector<double>> rows;
  std::vector<double> lengths;  // of the columns before scaling; 0 where no sample has the term
};

Scaled scale(std::span<const FitSample> samples) {
  Scaled scaled;
  scaled.lengths.assign(samples.front().terms.size(), 0);
  for (const FitSample& sample : samples) {
    SPSCOPE_CHECK(sample.terms.size() == scaled.lengths.size() && sample.value > 0);
    std::vector<double>& row = scaled.rows.emplace_back(sample.terms);
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] /= sample.value;
      scaled.lengths[i] += row[i] * row[i];
    }
  }
  for (double& length : scaled.lengths) length = std::sqrt(length);
  for (std::vector<double>& row : scaled.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (scaled.lengths[i] > 0) row[i] /= scaled.lengths[i];
  return scaled;
}

// Solves a x = b by elimination with pivoting; false when `a` is singular.
bool solve(std::vector<std::vector<double>> a, std::vector<double> b, std::vector<double>& x) {
  const std::size_t n = b.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    if (std::abs(a[pivot][column]) < kSingular) return false;
    std::swap(a[pivot], a[column]);
    std::swap(b[pivot], b[column]);
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = a[row][column] / a[column][column];
      for (std::size_t i = column; i < n; ++i) a[row][i] -= factor * a[column][i];
      b[row] -= factor * b[column];
    }
  }
  x.assign(n, 0);
  for (std::size_t i = n; i-- > 0;) {
    double rest = b[i];
    for (std::size_t k = i + 1; k < n; ++k) rest -= a[i][k] * x[k];
    x[i] = rest / a[i][i];
  }
  return true;
}

// The unconstrained least squares solution that uses only `terms`; false when there is none of that rank.
bool least_squares(const Scaled& scaled, const std::vector<std::size_t>& terms, std::vector<double>& x) {
  const std::size_t n = terms.size();
  std::vector<std::vector<double>> normal(n, std::vector<double>(n, 0));
  std::vector<double> target(n, 0);
  for (const std::vector<double>& row : scaled.rows)
    for (std::size_t i = 0; i < n; ++i) {
      target[i] += row[terms[i]];
      for (std::size_t k = 0; k < n; ++k) normal[i][k] += row[terms[i]] * row[terms[k]];
    }
  return solve(std::move(normal), std::move(target), x);
}

double sum_of_squares(const Scaled& scaled, const std::vector<double>& coefficients) {
  double sum = 0;
  for (const std::vector<double>& row : scaled.rows) {
    double residual = -1;
    for (std::size_t i = 0; i < row.size(); ++i) residual += coefficients[i] * row[i];
    sum += residual * residual;
  }
  return sum;
}

FitQuality quality_of(std::span<const FitSample> samples, const std::vector<double>& coefficients) {
  std::vector<double> residuals;
  for (const FitSample& sample : samples) {
    double model = 0;
    for (std::size_t i = 0; i < coefficients.size(); ++i) model += coefficients[i] * sample.terms[i];
    residuals.push_back(std::abs(model / sample.value - 1));
  }
  return {static_cast<int>(samples.size()), median(residuals), *std::ranges::max_element(residuals)};
}

}  // namespace

Measured measured(std::vector<double> values) {
  std::ranges::sort(values);
  const double middle = values[median_index(values.size())];
  const double quartiles = values[(values.size() - 1) * 3 / 4] - values[(values.size() - 1) / 4];
  return {middle, middle > 0 ? quartiles / middle : 0};
}

// The best non-negative solution is the unconstrained one on the terms it uses. There are few terms, so every set of
// them is tried, and of the solutions without a negative coefficient the best is taken.
LinearFit fit_non_negative(std::span<const FitSample> samples) {
  SPSCOPE_CHECK(!samples.empty());
  const std::size_t num_terms = samples.front().terms.size();
  SPSCOPE_CHECK(num_terms >= 1 && num_terms <= kMaxTerms);
  const Scaled scaled = scale(samples);
  std::vector<double> best(num_terms, 0);
  double least = std::numeric_limits<double>::infinity();
  for (unsigned used = 1; used < 1u << num_terms; ++used) {
    std::vector<std::size_t> terms;
    for (std::size_t i = 0; i < num_terms; ++i)
      if ((used >> i & 1u) != 0 && scaled.lengths[i] > 0) terms.push_back(i);
    std::vector<double> x;
    if (terms.empty() || !least_squares(scaled, terms, x)) continue;
    if (std::ranges::any_of(x, [](double c) { return !(c >= 0); })) continue;
    std::vector<double> coefficients(num_terms, 0);
    for (std::size_t i = 0; i < terms.size(); ++i) coefficients[terms[i]] = x[i];
    const double sum = sum_of_squares(scaled, coefficients);
    if (sum < least) least = sum, best = std::move(coefficients);
  }
  for (std::size_t i = 0; i < num_terms; ++i)
    if (scaled.lengths[i] > 0) best[i] /= scaled.lengths[i];
  return {best, quality_of(samples, best), least};
}

std::optional<LinkNumbers> link_of(std::span<const FitSample> samples, const LinearFit& fit) {
  constexpr double kLeastShare = 0.2;  // of the time of the largest exchange
  // Of the squares that one time for all sizes leaves. A line through six times that differ by noise alone leaves less
  // in about one case in twenty, however large the noise.
  constexpr double kMostSquares = 0.5;
  const double latency_ns = fit.coefficients[0], ns_per_byte = fit.coefficients[1];
  const double wire_ns = ns_per_byte * samples.back().terms[1];
  if (!(wire_ns > 0) || wire_ns < kLeastShare * (latency_ns + wire_ns)) return std::nullopt;
  std::vector<FitSample> without_bytes(samples.begin(), samples.end());
  for (FitSample& sample : without_bytes) sample.terms.resize(1);
  if (fit.squares > kMostSquares * fit_non_negative(without_bytes).squares) return std::nullopt;
  return LinkNumbers{latency_ns, 1 / ns_per_byte};
}

double slowdown_of(double overlap_ns, double delay_ns) {
  if (delay_ns <= 0) return 1;
  if (delay_ns >= overlap_ns) return std::numeric_limits<double>::infinity();
  return overlap_ns / (overlap_ns - delay_ns);
}

}  // namespace spscope
