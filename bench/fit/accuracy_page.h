// What is written down of how far predictions can be trusted: docs/accuracy.md and the errors of ratios that the
// program has built in.
#pragma once

#include <string>
#include <vector>

#include "bench/fit/accuracy.h"

namespace spscope {

// Both by row: seconds predicted with all rows seen, and with none of the row's source.
void write_accuracy(const std::string& path, const Evaluation& e, const std::vector<double>& fitted,
                    const std::vector<double>& unseen);

// The lines of machines that published times are of; the others stay.
void write_ratio_errors(const std::string& path, const Evaluation& e, const Summary& unseen);

}  // namespace spscope
