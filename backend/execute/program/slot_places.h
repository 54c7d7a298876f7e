// SlotPlaces: where slots lie in memory that a rank takes before a run, so that a repeat takes none.
//
// Places are a function of the plan, so processes that share memory know each other's without asking. A rank's slots
// use the same bytes one after the other where the plan proves that all users of the earlier one have ended when the
// later one opens: by the order of lanes and by dependencies inside the rank; of users on other ranks, by an op of the
// rank that depends on the user, or by a later barrier of both. memory_bound() has the same knowledge, so that what is
// in use at one time never exceeds it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/program/memory_layout.h"

namespace spscope {

struct SlotPlaces {
  std::vector<std::int64_t> offset;         // by slot, in its rank's part; a multiple of 64; -1: not placed
  std::vector<std::int64_t> bytes_of_rank;  // by rank: of its part
  // By rank: most bytes of elements that slots in use at one time have. The part is larger by the gaps between them.
  std::vector<std::int64_t> live_bytes_of_rank;
  // By rank: the op at whose start that is so; kNone: at the start of the run.
  std::vector<OpId> fullest;
  // By slot: the op of its rank from whose start on the bytes are the slot's; kNone: from the start of the run.
  std::vector<OpId> opener;
};

// A slot that opens with an earlier op than its first writer.
struct EarlyOpening {
  SlotId slot;
  OpId opener;  // of its rank
};

// Places the slots that are `wanted` (by slot).
SlotPlaces place_slots(const Plan& plan, const MemoryLayout& layout, const std::vector<bool>& wanted,
                       const std::vector<EarlyOpening>& early = {});

// Slots that any op uses, by slot.
std::vector<bool> used_slots(const Plan& plan, const MemoryLayout& layout);

// Slots that other processes of a node touch: receivers and pulls read from the source; a push writes at its
// destination. `share_memory(a, b)`: whether two ranks run in different processes of one node. Slots of ranks for which
// `of_rank` is false are left out.
std::vector<bool> shared_slots(const Plan& plan, const MemoryLayout& layout,
                               const std::function<bool(int rank, int other)>& share_memory,
                               const std::function<bool(int rank)>& of_rank);

}  // namespace spscope
