// What the environment of this process says of its rank (record/rank_claims.h). A program may set it late, as workers
// do that choose a GPU first, so it is read again and again.
//
// No thread of ours reads it, since getenv() must not run while another thread calls setenv(): only threads of the
// program do, where libraries read it anyway: in cuInit(), as NCCL makes a communicator, and in exit().
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "backend/record/rank_claims.h"

namespace spscope::inject {

// The first variable of a launcher that is a number from 0 on.
std::optional<int> first_rank();

class LauncherVariables {
 public:
  // Those that are numbers and not what they were at the last call. One thread at a time.
  std::vector<RankClaim> changes();

 private:
  std::array<std::optional<int>, kNumRankSources> last_;
};

}  // namespace spscope::inject
