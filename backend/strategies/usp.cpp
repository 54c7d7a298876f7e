// usp (unified sequence parallelism, arXiv 2405.07719): ranks form a U x R mesh. Tokens are cut into R ring chunks at
// block borders and each chunk into U even parts; all-to-alls inside Ulysses groups give each rank a share of heads of
// its chunk; k and v then travel round the ring of ranks with the same heads.
// Sent by all ranks, with equal head shares: (4 (U-1)/U + 2) M bytes (systems.md 3.1).
#include <fmt/format.h>

#include <algorithm>

#include "backend/strategies/sharding.h"

namespace spscope {
namespace {

// Both degrees of a setting: one that is 0 follows from the other; both 0: the largest Ulysses degree that divides the
// ranks and does not exceed the heads.
Mesh mesh_of(const Request& request, const Parameters& parameters) {
  int ulysses = parameters.integer("ulysses"), ring = parameters.integer("ring");
  if (ulysses == 0 && ring == 0)
    for (int u = 1; u <= std::min(request.ranks, request.heads); ++u)
      if (request.ranks % u == 0) ulysses = u;
  if (ulysses == 0) ulysses = request.ranks / std::max(1, ring);
  if (ring == 0) ring = request.ranks / ulysses;
  return {std::max(1, ulysses), std::max(1, ring), parameters.text("ranks") == "contiguous"};
}

}  // namespace

std::vector<Parameter> parameters_usp() {
  return {{"ulysses", std::int64_t{0}, 0, 65536, {}, "ranks", "Ulysses degree; 0: ranks / ring degree"},
          {"ring", std::int64_t{0}, 0, 65536, {}, "ranks", "ring degree; 0: ranks / Ulysses degree"},
          {"ranks",
           std::string("contiguous"),
           0,
           -1,
           {"contiguous", "strided"},
           "",
           "whether a Ulysses group is made of neighbouring ranks, or its rings are"},
          token_order_parameter()};
}

std::vector<Problem> legal_usp(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  const Mesh mesh = mesh_of(request, parameters);
  const std::int64_t product = std::int64_t{mesh.ulysses} * mesh.ring;
  if (product != request.ranks)
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.usp",
                        fmt::format("ulysses {} x ring {} makes {} ranks, the cluster has {}", mesh.ulysses, mesh.ring,
                                    product, request.ranks),
                        fmt::format("choose degrees whose product is {}", request.ranks)});
  check_ulysses_degree(request, "usp", mesh.ulysses, problems);
  check_ring_text(request, "usp", mesh.ring, problems);
  return problems;
}

std::vector<Parameters> candidates_usp(const Request& request) {
  std::vector<Parameters> settings;
  for (int u = 2; u < request.ranks; ++u) {
    if (request.ranks % u != 0) continue;
    for (const char* order : kTokenOrders) {
      Parameters setting(parameters_usp());
      setting.set("ulysses", std::int64_t{u});
      setting.set("ring", std::int64_t{request.ranks / u});
      setting.set("order", std::string(order));
      if (legal_usp(request, setting).empty()) settings.push_back(std::move(setting));
    }
  }
  return settings;
}

Decision decide_usp(const Request& request, const Parameters& parameters) {
  return decide_mesh(mesh_of(request, parameters));
}

void plan_usp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh = mesh_of(request, parameters);
  const Groups all_to_all = mesh.ulysses_groups(), rings = mesh.ring_groups();
  const bool replicate = request.text == TextLayout::kReplicate && request.text_tokens > 0;
  std::vector<SetId> chunk = cut_blocks(request, axis, mesh.ring, token_order(parameters));
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), mesh.ulysses);
  std::vector<std::vector<SetId>> parts;
  for (SetId c : chunk)
    parts.push_back(b.sets().even(replicate ? b.sets().minus(c, request.words()) : c, mesh.ulysses));
  const auto u = [&](int rank) { return static_cast<std::size_t>(mesh.ulysses_index(rank)); };
  const auto r = [&](int rank) { return static_cast<std::size_t>(mesh.ring_index(rank)); };
  const Placement rows = b.place([&](int rank) {
    BoxList boxes = {token_box(request, axis, request.all_heads(), parts[r(rank)][u(rank)])};
    if (replicate) boxes.push_back(token_box(request, axis, request.all_heads(), request.words()));
    return boxes;
  });
  const Placement columns =
      b.place([&](int rank) { return BoxList{token_box(request, axis, heads[u(rank)], chunk[r(rank)])}; });
  const LayerEntry entry = enter_layer(b, rows);
  const ValueId q = b.reshard(entry.q, columns, all_to_all), kv = b.reshard(entry.kv, columns, all_to_all);
  const ValueId o = ring_attention(b, q, kv, rings, axis, slices_for(request, axis, mesh.ring));
  leave_layer(b, entry, b.reshard(o, rows, all_to_all));
}

}  // namespace spscope
