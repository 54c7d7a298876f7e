// Figures that follow from a plan without running it: bytes, tiles, balance, weights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/plan/request.h"

namespace spscope {

struct PlanVolume {
  std::vector<std::int64_t> sent, sent_intra_node, sent_inter_node, received;  // bytes by rank
  // Sums over ranks by tensor: q k v o hidden exchange text norm metadata boundary. Row statistics of unfinished rows
  // travel with o and count there; text is what replicated text tokens cost.
  std::map<std::string, std::int64_t> by_tensor;
  std::int64_t messages = 0;  // between different ranks
};
// Ranks with equal r / Request::ranks_per_node share a node; 0: all do.
PlanVolume plan_volume(const Plan& plan, const Request& request);

// visit(message, tensor name, bytes, first) for every tensor of every message between different ranks; `first` once a
// message.
using VisitSentTensor = std::function<void(const Message&, const char*, std::int64_t, bool)>;
// visit(src, dst, bytes): indices that the receivers of a move by index send to ask for it (Post::by_index), 12 bytes
// for each block of keys and head, as DSV's code has three numbers of 4 bytes for each token and head. They are no
// messages.
using VisitIndices = std::function<void(int src, int dst, std::int64_t bytes)>;
void for_each_index(const Plan& plan, const Request& request, const VisitIndices& visit);
void for_each_sent_tensor(const Plan& plan, const Request& request, const VisitSentTensor& visit);

struct PlanTiles {
  double computed = 0;   // unrefined active tiles computed by all ranks, fractional by area, x sequences x batch
  double redundant = 0;  // of these, tiles that another rank computes too
  std::vector<double> by_rank;
};
// Counted on the masks that run.
PlanTiles plan_tiles(const Plan& plan, const Request& request);

// Where rows would be in a contiguous split: the ranks of a ring, in order, would hold runs of as many neighbouring
// tokens as they attend. Rings whose ranks attend the same rows (queries that travel) have no such home: theirs is what
// they attend.
struct RowHomes {
  AttendedAxis axis = AttendedAxis::kInner;  // along which rows are spread
  std::vector<SetId> attended, home;         // by rank, tokens of that axis
};
// The sets are of `sets`, to which those that are new are added: the plan's own table, or a copy of it.
RowHomes row_homes(const Plan& plan, SetTable& sets);

// Share of token rows that are attended on another rank than their home, 0 to 1.
double moved_fraction(const Plan& plan);

// Bytes of the weight matrices that ranks hold for a plan's matrix products, and for projecting the text that
// cross-attention reads; sum over ranks. Numbers by channel (norms, modulation) are left out.
std::int64_t parameter_bytes(const Plan& plan);

}  // namespace spscope
