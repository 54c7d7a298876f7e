// Faults about parts of the keys.
#pragma once

#include <map>
#include <span>

#include "backend/execute/reference/fault_rows.h"

namespace spscope {

// Of chosen rows of one head of one sequence; the log-sum-exp of each row goes to `lse`.
void judge_parts_of_keys(FaultRows& rows, std::span<const std::size_t> group, std::map<std::size_t, double>& lse);

}  // namespace spscope
