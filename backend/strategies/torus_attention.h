// Attention whose heads are spread over nodes while their tensors come node by node (torus): what of another node is on
// its way is posted before what is there is attended. torus.cpp says which parts there are and when they move.
#pragma once

#include <vector>

#include "backend/strategies/sharding.h"

namespace spscope {

// How data moves.
struct TorusWay {
  bool one_sided = false;  // by pulls, and one push home; else by exchanges, between nodes as point-to-point messages
  bool barrier = false;    // all ranks meet before and after; else what ranks read of each other is signalled alone
  bool keeps = true;       // keys that went round a ring stay there; else each stage sends them round again
};

// Which rank holds what. The mesh is strided: the Ulysses index of rank u of node t is t x (U / nodes) + u, and its
// ring is inside its node. REQUIRES: nodes divides U.
struct TorusCut {
  int nodes = 1;
  Mesh mesh;
  std::vector<SetId> heads;   // by Ulysses index
  std::vector<SetId> chunks;  // of tokens, by node x R + ring index
  int slices = 1;             // of accumulate()
};

// All heads of each rank's own tokens: those of its chunk, cut to the token among the ranks of its node that share it.
Placement torus_rows(PlanBuilder& builder, const TorusCut& cut);
// o where q and kv are held, at torus_rows().
ValueId torus_attention(PlanBuilder& builder, const TorusCut& cut, const TorusWay& way, ValueId q, ValueId kv);

}  // namespace spscope
