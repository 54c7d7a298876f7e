// Plans as text: one op a line, or a graph for Graphviz.
#pragma once

#include <iosfwd>

#include "backend/plan/plan.h"

namespace spscope {

// "12  rank 1  lane 0  attend  step 2  heads 0-3  q 0-63 k 64-127  96 tiles  after 3,7"
void print_ops(std::ostream& out, const Plan& plan);
// One node an op, clustered by rank; communication is dashed, edges are dependencies.
void print_dot(std::ostream& out, const Plan& plan);

}  // namespace spscope
