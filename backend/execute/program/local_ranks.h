// Which ranks one process runs, and whose memory it can reach.
#pragma once

#include <vector>

namespace spscope {

struct LocalRanks {
  int first = 0, count = 0;
  bool has(int rank) const { return rank >= first && rank < first + count; }
};

// What a process sees of the ranks of a plan: it runs the local ones; others share memory with it, or only messages.
struct RankView {
  LocalRanks local;
  std::vector<bool> shares_memory;  // by rank: its shared slots can be reached; empty: no rank but the local ones
  bool has(int rank) const { return local.has(rank); }
  bool reaches(int rank) const {
    return has(rank) || (!shares_memory.empty() && shares_memory[static_cast<std::size_t>(rank)]);
  }
  static RankView all(int ranks) { return {{0, ranks}, {}}; }
};

}  // namespace spscope
