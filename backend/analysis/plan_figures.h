// Figures that follow from a plan alone: what moves, what is computed, how it is balanced. Nothing has to run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
// Ranks r with equal r / ranks_per_node share a node; 0: all do.
PlanVolume plan_volume(const Plan& plan, const Request& request);

struct PlanWork {
  double tiles = 0;            // unrefined active tiles computed by all ranks, x sequences x batch
  double tiles_redundant = 0;  // of these, tiles that another rank computes too
  // Query-key pairs of each op, x sequences x batch; 0 for ops that do not attend.
  std::vector<double> area;
};
// On the masks that run.
PlanWork plan_work(const Plan& plan, const Request& request);
// Pairs of each op on the masks that were known when planning; nothing when none was.
std::optional<std::vector<double>> planned_area(const Plan& plan, const Request& request);

}  // namespace spscope
