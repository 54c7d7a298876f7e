// Robust least squares of logarithms with priors: few positive parameters fitted to many positive measurements that
// scatter by a factor, each parameter kept near its prior as far as the data do not say otherwise.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace spscope {

struct FitParameter {
  std::string name;
  double prior = 1;   // > 0
  double spread = 1;  // standard deviation of its logarithm
  // It multiplies the predictions that it affects and nothing else: its derivative is known.
  bool is_factor = false;
};

struct FitProblem {
  std::vector<FitParameter> parameters;
  std::vector<double> measured;  // > 0, by row
  // What is predicted for a row, > 0, without the parameters that are factors.
  std::function<double(std::size_t row, std::span<const double> values)> predict;
  std::function<bool(std::size_t row, std::size_t parameter)> affects;
  double scatter = 0.08;  // standard deviation of the logarithm of a measurement
};

// Logarithms of all predictions near some values, to first order.
struct LinearPredictions {
  std::vector<double> at;             // the values, by parameter
  std::vector<double> log_predicted;  // by row, factors included; 0 of a row without weight
  // By row: parameters that affect it, with the slope of the logarithm over theirs, by differences of 0.1 %.
  std::vector<std::vector<std::pair<std::size_t, double>>> slopes;
};
// A row of weight 0 is not predicted. REQUIRES: predictions are positive.
LinearPredictions linearize(const FitProblem& problem, std::span<const double> values, std::span<const double> weights);

// The values that are best where predictions are linear: the least
//   sum over rows of weight x huber(log(predicted / measured) / scatter)
//   + sum over parameters of (log(value / prior) / spread)^2,
// huber growing only linearly beyond 1.5; no further from linear.at than a factor of e.
std::vector<double> solve(const FitProblem& problem, const LinearPredictions& linear, std::span<const double> weights);

struct Fit {
  std::vector<double> values;  // by parameter
  double last_move = 0;        // the longest of a logarithm but of factors, in the last round
};
// Repeats both from the priors until no parameter but factors moves by 0.5 % or more, at most `max_rounds` times. Rows
// of weight 0 have no part in it.
Fit fit(const FitProblem& problem, std::span<const double> weights, int max_rounds = 6);

}  // namespace spscope
