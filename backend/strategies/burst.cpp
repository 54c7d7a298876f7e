// burst (BurstEngine, arXiv 2509.19836): a ring of two levels. Rows of q stay; the ranks of a node pass k and v round
// among them, and while they do, each rank passes those with which its node began a round to the same rank of the next
// node. Nodes thus exchange every key once, and the hop between nodes has a whole round to hide behind. Each block of
// the mask is cut in as many slices as there are ranks, one a rank (stripe), so that all ranks have the same work
// whatever the mask, in tiles that are smaller than its blocks (small_tile of a cluster's costs).
// Sent by a rank with even cuts, on n nodes of l ranks: 2 (n-1) m between nodes and 2 n (l-1) m inside them.
#include <fmt/format.h>

#include <algorithm>

#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// Nodes as rings of their own, and rings of the ranks of equal place in their nodes.
Mesh node_mesh(const Request& request) {
  const int per_node = request.ranks_per_node;
  const int inside = per_node == 0 ? request.ranks : std::min(per_node, request.ranks);
  return {inside, request.ranks / inside};
}

bool stripes(const Parameters& parameters) { return parameters.text("order") == "stripe"; }

std::int32_t largest_block(const Request& request) {
  const BlockMask& mask = request.executed_mask(spread_axis(request)).mask();
  std::int32_t tokens = 0;
  for (std::int32_t block = 0; block < mask.blocks(); ++block)
    tokens = std::max(tokens, static_cast<std::int32_t>(mask.block(block).size()));
  return tokens;
}

int slices_of(const Request& request, const Parameters& parameters) {
  return stripes(parameters) ? request.ranks : slices_for(request, spread_axis(request), request.ranks);
}

// The tokens of each rank.
std::vector<SetId> tokens_of_ranks(const Request& request, const Parameters& parameters) {
  const AttendedAxis axis = spread_axis(request);
  if (!stripes(parameters)) return cut_blocks(request, axis, request.ranks, token_order(parameters));
  const auto slices = request.executed_mask(axis).refined(request.ranks).blocks();
  std::vector<SetId> cut;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(request.ranks); ++rank) {
    std::vector<SetId> mine;
    for (std::size_t slice = rank; slice < slices.size(); slice += static_cast<std::size_t>(request.ranks))
      mine.push_back(slices[slice]);
    cut.push_back(request.sets->unite(mine));
  }
  return cut;
}

}  // namespace

std::vector<Parameter> parameters_burst() {
  return {Parameter::choice("order", {"stripe", kTokenOrders[0], kTokenOrders[1]},
                            "what a rank holds: a slice of every block, a run of blocks, or every n-th block")};
}

std::vector<Problem> legal_burst(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_ring_text(request, "burst", request.ranks, problems);
  const Mesh mesh = node_mesh(request);
  if (mesh.ulysses * mesh.ring != request.ranks)
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.burst",
                        fmt::format("{} ranks do not fill nodes of {}", request.ranks, request.ranks_per_node),
                        "use whole nodes, or ring"});
  if (stripes(parameters) && request.ranks > largest_block(request))
    problems.push_back(
        {ErrorCode::kStrategyIllegal, "strategy.burst",
         fmt::format("blocks of {} tokens have no slice for each of {} ranks", largest_block(request), request.ranks),
         "use larger blocks (mask.block), or order = cyclic"});
  return problems;
}

// On one node an order of whole blocks is ring. Where blocks are all alike slices of them gain nothing.
std::vector<Parameters> candidates_burst(const Request& request) {
  std::vector<std::string> orders;
  if (node_mesh(request).ring > 1) orders = orders_worth_comparing(request);
  if (!known_dense(request)) orders.emplace_back("stripe");
  std::vector<Parameters> settings;
  for (const std::string& order : orders) {
    Parameters setting(parameters_burst());
    setting.set("order", order);
    if (legal_burst(request, setting).empty()) settings.push_back(std::move(setting));
  }
  return settings;
}

Decision decide_burst(const Request& request, const Parameters&) { return decide_mesh(Mesh{1, request.ranks}); }

void plan_burst(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  constexpr int kBetweenNodes = 2;  // a lane of its own
  const Mesh mesh = node_mesh(request);
  const Groups inside = mesh.ulysses_groups(), across = mesh.ring_groups();
  const std::vector<SetId> tokens = tokens_of_ranks(request, parameters);
  const Placement rows = b.place([&](int rank) {
    return BoxList{
        token_box(request, spread_axis(request), request.all_heads(), tokens[static_cast<std::size_t>(rank)])};
  });
  const LayerEntry entry = enter_layer(b, rows);
  const AccId acc = b.accumulate(entry.q, spread_axis(request), slices_of(request, parameters));
  const int rounds = mesh.ring, steps = mesh.ulysses;
  ValueId first = entry.kv;  // of the round
  for (int round = 0; round < rounds; ++round) {
    Move between;
    if (round + 1 < rounds) between = b.shift(first, across, 1, kBetweenNodes);
    ValueId kv = first;
    for (int step = 0; step < steps; ++step) {
      Move hop;
      if (step + 1 < steps) hop = b.shift(kv, inside);
      b.attend(acc, kv, round * steps + step);
      if (step + 1 < steps) kv = b.wait(hop);
    }
    if (round + 1 < rounds) first = b.wait(between);
  }
  leave_layer(b, entry, b.finish(acc));
}

}  // namespace spscope
