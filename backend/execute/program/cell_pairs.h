// CellPair: what an op that folds, finishes or copies rows inside a rank takes from where to where.
#pragma once

#include <vector>

#include "backend/execute/program/cells.h"

namespace spscope {

// One box, enumerated on both sides.
struct CellPair {
  std::vector<CellRun> from, to;
};

// Of a merge, the unfinished rows that came and those of the accumulator; of a finish, the accumulator's rows and the
// result; of a copy, source and result. Both sides are walked along the axis that the accumulator is attended along,
// and of a copy along the inner one. REQUIRES: an op of these kinds. Throws Error(kPlanNotHeld).
std::vector<CellPair> cell_pairs(const Plan& plan, CellFinder& finder, const Op& op);

// Whether a post is a finish that gives away o, m and l instead of finished rows.
bool gives_unfinished_rows(const Plan& plan, const Post& post);

}  // namespace spscope
