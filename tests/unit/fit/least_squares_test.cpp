#include "backend/fit/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spscope {
namespace {

// Times of work a over a rate, and of a fixed part, from known numbers.
struct Synthetic {
  std::vector<double> work;
  FitProblem problem;
  explicit Synthetic(double rate, double fixed) {
    for (int i = 0; i < 12; ++i) {
      work.push_back(std::pow(2.0, i));
      problem.measured.push_back(work.back() / rate + fixed);
    }
    problem.parameters = {{"rate", 10, 1}, {"fixed", 1, 1}};
    problem.predict = [this](std::size_t row, std::span<const double> v) { return work[row] / v[0] + v[1]; };
    problem.affects = [](std::size_t, std::size_t) { return true; };
  }
};

TEST(Fit, ARowThatIsFarOffPullsLittle) {
  Synthetic table(37, 4.5);
  table.problem.measured[11] *= 5;
  const Fit fitted = fit(table.problem, std::vector<double>(12, 1), 20);
  EXPECT_NEAR(fitted.values[0], 37, 0.1 * 37);
}

TEST(Fit, AParameterThatNothingDependsOnKeepsItsPrior) {
  Synthetic table(37, 4.5);
  table.problem.parameters.push_back({"unused", 3, 0.5});
  table.problem.affects = [](std::size_t, std::size_t parameter) { return parameter < 2; };
  const Fit fitted = fit(table.problem, std::vector<double>(12, 1));
  EXPECT_DOUBLE_EQ(fitted.values[2], 3);
}

TEST(Fit, RowsWithoutWeightAreNeitherSeenNorPredicted) {
  Synthetic table(37, 4.5);
  std::vector<double> weights(12, 1);
  for (std::size_t i = 6; i < 12; ++i) {
    table.problem.measured[i] *= 3;
    weights[i] = 0;
  }
  table.problem.predict = [&](std::size_t row, std::span<const double> v) {
    EXPECT_GT(weights[row], 0);
    return table.work[row] / v[0] + v[1];
  };
  EXPECT_NEAR(fit(table.problem, weights, 20).values[1], 4.5, 0.1);
}

TEST(Fit, SaysHowFarItsLastRoundWent) {
  Synthetic table(37, 4.5);
  const std::vector<double> weights(12, 1);
  EXPECT_GT(fit(table.problem, weights, 1).last_move, 5e-3);
  EXPECT_LT(fit(table.problem, weights, 20).last_move, 5e-3);
}

TEST(Fit, AFactorOfAGroupTakesWhatTheGroupHasInCommon) {
  Synthetic table(37, 4.5);
  for (std::size_t i = 0; i < 6; ++i) table.problem.measured[2 * i] *= 1.2;
  table.problem.parameters.push_back({"group", 1, 0.5, true});
  table.problem.affects = [](std::size_t row, std::size_t parameter) { return parameter < 2 || row % 2 == 0; };
  const Fit fitted = fit(table.problem, std::vector<double>(12, 1), 20);
  EXPECT_NEAR(fitted.values[2], 1.2, 0.02);
  EXPECT_NEAR(fitted.values[0], 37, 0.5);
}

}  // namespace
}  // namespace spscope
