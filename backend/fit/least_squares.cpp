#include "backend/fit/least_squares.h"

#include <algorithm>
#include <cmath>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr double kStep = 1e-3;       // of a logarithm, for differences
constexpr double kLongestMove = 1;   // of a logarithm, from where predictions were made linear
constexpr double kConverged = 5e-3;  // of every logarithm
constexpr double kHuber = 1.5;       // scatters beyond which a row pulls no harder
constexpr int kReweightings = 12;

// Solves a x = b for a symmetric positive definite a of n x n, row by row. The result is b's place.
void solve_symmetric(std::vector<double> a, std::span<double> b) {
  const std::size_t n = b.size();
  // Cholesky: a = l x l^T in the lower triangle.
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
    SPSCOPE_CHECK(a[j * n + j] > 0);
    const double root = a[j * n + j] = std::sqrt(a[j * n + j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
      a[i * n + j] /= root;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

double log_factors(const FitProblem& problem, std::size_t row, std::span<const double> values) {
  double sum = 0;
  for (std::size_t p = 0; p < values.size(); ++p)
    if (problem.parameters[p].is_factor && problem.affects(row, p)) sum += std::log(values[p]);
  return sum;
}

double log_prediction(const FitProblem& problem, std::size_t row, std::span<const double> values) {
  const double predicted = problem.predict(row, values);
  SPSCOPE_CHECK(predicted > 0);
  return std::log(predicted);
}

// One round of reweighted least squares: the moves of the logarithms from linear.at, given those of the round before.
std::vector<double> moves_of(const FitProblem& problem, const LinearPredictions& linear,
                             std::span<const double> weights, std::span<const double> before) {
  const std::size_t n = problem.parameters.size();
  std::vector<double> h(n * n), b(n);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] <= 0) continue;
    const double here = linear.log_predicted[row] - std::log(problem.measured[row]);
    double residual = here;
    for (const auto& [p, slope] : linear.slopes[row]) residual += slope * before[p];
    const double scatters = std::abs(residual) / problem.scatter;
    const double weight = weights[row] / (problem.scatter * problem.scatter) / std::max(1.0, scatters / kHuber);
    for (const auto& [p, slope] : linear.slopes[row]) {
      b[p] -= weight * slope * here;
      for (const auto& [q, other] : linear.slopes[row]) h[p * n + q] += weight * slope * other;
    }
  }
  for (std::size_t p = 0; p < n; ++p) {
    const FitParameter& parameter = problem.parameters[p];
    const double precision = 1 / (parameter.spread * parameter.spread);
    h[p * n + p] += precision;
    b[p] -= precision * std::log(linear.at[p] / parameter.prior);
  }
  solve_symmetric(std::move(h), b);
  for (double& move : b) move = std::clamp(move, -kLongestMove, kLongestMove);
  return b;
}

}  // namespace

LinearPredictions linearize(const FitProblem& problem, std::span<const double> values,
                            std::span<const double> weights) {
  const std::size_t rows = problem.measured.size();
  LinearPredictions linear{{values.begin(), values.end()}, std::vector<double>(rows), {}};
  linear.slopes.resize(rows);
  std::vector<double> moved = linear.at;
  for (std::size_t row = 0; row < rows; ++row) {
    if (weights[row] <= 0) continue;
    const double here = log_prediction(problem, row, values);
    linear.log_predicted[row] = here + log_factors(problem, row, values);
    std::vector<std::pair<std::size_t, double>>& slopes = linear.slopes[row];
    for (std::size_t p = 0; p < moved.size(); ++p) {
      if (!problem.affects(row, p)) continue;
      double slope = 1;
      if (!problem.parameters[p].is_factor) {
        moved[p] = values[p] * std::exp(kStep);
        slope = (log_prediction(problem, row, moved) - here) / kStep;
        moved[p] = values[p];
      }
      if (slope != 0) slopes.emplace_back(p, slope);
    }
  }
  return linear;
}

std::vector<double> solve(const FitProblem& problem, const LinearPredictions& linear, std::span<const double> weights) {
  std::vector<double> moves(problem.parameters.size());
  for (int i = 0; i < kReweightings; ++i) moves = moves_of(problem, linear, weights, moves);
  std::vector<double> values = linear.at;
  for (std::size_t p = 0; p < values.size(); ++p) values[p] *= std::exp(moves[p]);
  return values;
}

Fit fit(const FitProblem& problem, std::span<const double> weights, int max_rounds) {
  Fit fitted;
  for (const FitParameter& parameter : problem.parameters) fitted.values.push_back(parameter.prior);
  for (int round = 0; round < max_rounds; ++round) {
    const std::vector<double> next = solve(problem, linearize(problem, fitted.values, weights), weights);
    double longest = 0;
    for (std::size_t p = 0; p < next.size(); ++p)
      if (!problem.parameters[p].is_factor) longest = std::max(longest, std::abs(std::log(next[p] / fitted.values[p])));
    fitted = {next, longest};
    if (longest < kConverged) break;
  }
  return fitted;
}

}  // namespace spscope
