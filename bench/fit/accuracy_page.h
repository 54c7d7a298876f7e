// What is written down of how far predictions can be trusted: docs/accuracy.md with the rows behind it,
// bench/measured/accuracy.md, and the errors of ratios that the program has built in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/fit/accuracy.h"

namespace spscope {

// `root`: of the repository. By row seconds predicted with all rows seen, and with none of the row's source; and the
// values fitted to all rows.
void write_accuracy(const std::string& root, const Evaluation& e, const std::vector<double>& fitted,
                    const std::vector<double>& unseen, std::span<const double> values);

// In place of the section with the same heading, or at the end.
void write_memory_section(const std::string& path, const std::string& section);

// The lines of machines that published times are of; the others stay.
void write_ratio_errors(const std::string& path, const Evaluation& e, const Summary& unseen);

}  // namespace spscope
