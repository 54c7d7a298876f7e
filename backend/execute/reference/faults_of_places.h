// Faults in which rows stand in the wrong place, or in which a rank left none.
#pragma once

#include <string>

#include "backend/execute/reference/fault_rows.h"

namespace spscope {

// Heads or tokens in another order.
void judge_order(FaultRows& rows);
// "the rows of rank 1 of 4 are 0: tokens 15 to 29", where every row that is off is 0; otherwise "". Ranks are those
// that would hold these tokens, or these heads, in order. They are named once every row of theirs was looked at.
std::string zero_rows_text(const FaultRows& rows, const LeftZero& left_zero);

}  // namespace spscope
