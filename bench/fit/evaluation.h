// The rows of bench/measured/end_to_end.csv that have a run, the parameters that they are fitted with, and what the
// fitted values predict for each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/fit/layer_parameters.h"

namespace spscope {

struct LeftOut {
  TimingRow row;
  std::string reason;
};

struct Evaluation {
  // `folder`: bench/measured.
  explicit Evaluation(const std::string& folder);
  Evaluation(const Evaluation&) = delete;  // the problem's functions read it
  Evaluation& operator=(const Evaluation&) = delete;

  std::vector<RowModel> rows;
  std::vector<LeftOut> left_out;
  std::vector<LayerParameter> parameters;  // those of the layers, then those of hosts
  std::size_t num_layer_parameters = 0;
  std::vector<std::string> offsets;  // "source|gpu|model", each a factor
  FitProblem problem;
  std::vector<double> weights;
};

// "source|gpu": the machine that a row was timed on.
std::string host_of(const RowModel& row);

// Numbers that take the place of each other (a collective's start on the host and in the network) go on moving back and
// forth; errors stay as they are from here on.
inline constexpr int kMaxRounds = 4;

// As a user's run is predicted: nothing of one host or source.
double predicted(const Evaluation& e, std::size_t row, std::vector<double> values);

// Each source predicted by a fit of its own, from the priors to the rows of all other sources.
struct Unseen {
  std::vector<double> seconds;  // by row
  int fits = 0;
  double last_move = 0;  // the longest of theirs
};
Unseen predict_unseen(const Evaluation& e);

}  // namespace spscope
