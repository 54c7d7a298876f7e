#include "backend/execute/rank_world.h"

#include <algorithm>

namespace spscope {

int RankWorld::num_nodes() const {
  int last = 0;
  for (int rank = 0; rank < size(); ++rank) last = std::max(last, node_of(rank));
  return last + 1;
}

bool RankWorld::one_clock() const { return std::ranges::all_of(clocks(), &ClockOfRank::same); }

}  // namespace spscope
