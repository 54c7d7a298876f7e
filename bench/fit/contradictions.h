// What limits the order in which strategies are predicted: hosts that contradict each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/fit/accuracy.h"

namespace spscope {

// A section of docs/accuracy.md. `unseen`: seconds by row; `values`: those fitted to all rows, with what they say of
// each host.
std::string contradictions_text(const Evaluation& e, const std::vector<double>& unseen, std::span<const double> values);

}  // namespace spscope
