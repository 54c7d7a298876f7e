// Epilogues: finishes that need no work of their own. An accumulator that one op attends, with all its rows, and one op
// finishes is finished by the kernel that attends it, which then keeps unfinished rows in registers: the accumulator
// takes no memory, and the result opens with the attend.
#pragma once

#include <vector>

#include "backend/execute/program/memory_layout.h"

namespace spscope::cuda {

struct Epilogue {
  OpId attend = kNone, finish = kNone;
  SlotId accumulator = kNone, result = kNone;  // buffers of both hold the same boxes, one by one
};

std::vector<Epilogue> find_epilogues(const Plan& plan, const MemoryLayout& layout);

// Whether an attend has all rows of its accumulator at its rank.
bool attends_all_rows(const Plan& plan, const MemoryLayout& layout, const Op& op, SlotId accumulator);

}  // namespace spscope::cuda
