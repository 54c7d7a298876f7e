// SharedPlaces: where each slot that other processes of a node touch lies in its rank's part of the memory they share.
//
// Places are a function of the plan, so every process knows them all without asking. A rank's slots use the same bytes
// one after the other where the plan proves that all users of the earlier one have ended when the writer of the later
// one starts: by the order of lanes and by dependencies inside the rank, the same knowledge that memory_bound() uses. A
// slot that ops of other ranks pull from or push into keeps its bytes for the whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/program/memory_layout.h"

namespace spscope {

struct SharedPlaces {
  std::vector<std::int64_t> offset;         // by slot, in its rank's part; -1: not shared
  std::vector<std::int64_t> bytes_of_rank;  // by rank
};

// `share_memory(a, b)`: whether two ranks run in different processes of one node. Slots of ranks for which `wanted` is
// false are left out.
SharedPlaces place_shared_slots(const Plan& plan, const MemoryLayout& layout,
                                const std::function<bool(int rank, int other)>& share_memory,
                                const std::function<bool(int rank)>& wanted);

}  // namespace spscope
