#include "backend/strategies/mesh_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/strategies/balance_heads.h"

namespace spscope {

std::vector<Parameter> mesh_parameters() {
  return {Parameter::integer("ulysses", 0, 0, 65536, "ranks", "Ulysses degree; 0: ranks / ring degree"),
          Parameter::integer("ring", 0, 0, 65536, "ranks", "ring degree; 0: ranks / Ulysses degree"),
          Parameter::choice("ranks", {"contiguous", "strided"},
                            "whether Ulysses groups consist of neighbouring ranks (contiguous) or rings do (strided)")};
}

Mesh mesh_of(const Request& request, const Parameters& parameters) {
  int ulysses = parameters.integer("ulysses"), ring = parameters.integer("ring");
  if (ulysses == 0 && ring == 0)
    for (int u = 1; u <= std::min(request.ranks, request.heads); ++u)
      if (request.ranks % u == 0) ulysses = u;
  if (ulysses == 0) ulysses = request.ranks / std::max(1, ring);
  if (ring == 0) ring = request.ranks / ulysses;
  return {std::max(1, ulysses), std::max(1, ring), parameters.text("ranks") == "contiguous"};
}

int num_nodes(const Request& request) {
  if (request.ranks_per_node <= 0) return 1;
  return (request.ranks + request.ranks_per_node - 1) / request.ranks_per_node;
}

namespace {

// "usp:ulysses=4,ring=2 or usp:ulysses=2,ring=4": degrees that this workload allows, largest Ulysses degree first.
std::string legal_degrees(const Request& request, std::string_view strategy) {
  constexpr int kMaxNamed = 6;
  std::string text;
  int named = 0;
  for (int u = std::min(request.ranks, request.heads); u >= 1 && named < kMaxNamed; --u) {
    if (request.ranks % u != 0) continue;
    std::vector<Problem> problems;
    check_ulysses_degree(request, strategy, u, problems);
    check_ring_text(request, strategy, request.ranks / u, problems);
    if (!problems.empty()) continue;
    text += fmt::format("{}{}:ulysses={},ring={}", named++ == 0 ? "" : " or ", strategy, u, request.ranks / u);
  }
  return text;
}

}  // namespace

void check_mesh(const Request& request, std::string_view strategy, const Mesh& mesh, std::vector<Problem>& problems) {
  const std::int64_t product = std::int64_t{mesh.ulysses} * mesh.ring;
  if (product != request.ranks)
    problems.push_back({ErrorCode::kStrategyIllegal, fmt::format("strategy.{}", strategy),
                        fmt::format("ulysses {} x ring {} makes {} ranks, the cluster has {}", mesh.ulysses, mesh.ring,
                                    product, request.ranks),
                        fmt::format("give degrees whose product is {}, in run.strategies or after -s: {}",
                                    request.ranks, legal_degrees(request, strategy))});
  check_ulysses_degree(request, strategy, mesh.ulysses, problems);
  check_ring_text(request, strategy, mesh.ring, problems);
}

std::vector<Parameters> mesh_candidates(const Request& request, const std::vector<Parameter>& rows, bool edges) {
  const bool several_nodes = num_nodes(request) > 1;
  std::vector<Parameters> settings;
  for (int u = 1; u <= request.ranks; ++u) {
    const bool one_axis = u == 1 || u == request.ranks;
    if (request.ranks % u != 0 || (one_axis && !edges)) continue;
    Parameters setting(rows);
    setting.set("ulysses", std::int64_t{u});
    setting.set("ring", std::int64_t{request.ranks / u});
    std::vector<Problem> problems;
    check_mesh(request, "", mesh_of(request, setting), problems);
    if (!problems.empty()) continue;
    settings.push_back(setting);
    if (one_axis || !several_nodes) continue;
    setting.set("ranks", std::string("strided"));
    settings.push_back(std::move(setting));
  }
  return settings;
}

bool known_dense(const Request& request) {
  MaskCounter* known = request.known_mask(spread_axis(request));
  return known != nullptr && known->mask().density() >= 1;
}

std::vector<std::string> orders_worth_comparing(const Request& request) {
  std::vector<std::string> orders(std::begin(kTokenOrders), std::end(kTokenOrders));
  if (known_dense(request)) orders.resize(1);
  return orders;
}

int block_slices(const Request& request) { return slices_for(request, spread_axis(request), request.ranks); }

int num_cut_blocks(const Request& request) {
  return request.executed_mask(spread_axis(request)).refined(block_slices(request)).mask().blocks();
}

std::vector<SetId> tokens_of(const Request& request, const IndexGroups& groups) {
  const auto blocks = request.executed_mask(spread_axis(request)).refined(block_slices(request)).blocks();
  std::vector<SetId> tokens;
  for (const auto& group : groups) {
    std::vector<SetId> mine;
    for (std::int32_t b : group) mine.push_back(blocks[static_cast<std::size_t>(b)]);
    tokens.push_back(request.sets->unite(mine));
  }
  return tokens;
}

std::vector<SetId> heads_of(const Request& request, const IndexGroups& groups) {
  std::vector<SetId> heads;
  for (const auto& group : groups) heads.push_back(request.sets->indices(group));
  return heads;
}

IndexGroups balanced_heads(const Request& request, int ulysses) {
  MaskCounter* known = request.known_mask(spread_axis(request));
  if (known == nullptr || ulysses == 1) return even_groups(request.heads, ulysses);
  const std::vector<std::int64_t>& weights = known->area_sums().heads;
  return refine_by_swaps(balance_heads(weights, ulysses), weights);
}

void plan_mesh(PlanBuilder& b, const Mesh& mesh, const std::vector<SetId>& heads, const std::vector<SetId>& chunks,
               int slices) {
  const Request& request = b.request();
  const AttendedAxis axis = spread_axis(request);
  const Groups all_to_all = mesh.ulysses_groups(), rings = mesh.ring_groups();
  std::vector<std::vector<SetId>> parts;
  for (SetId c : chunks)
    parts.push_back(b.sets().even(replicates_text(request) ? b.sets().minus(c, request.words()) : c, mesh.ulysses));
  const auto u = [&](int rank) { return static_cast<std::size_t>(mesh.ulysses_index(rank)); };
  const auto r = [&](int rank) { return static_cast<std::size_t>(mesh.ring_index(rank)); };
  const Placement rows = b.place([&](int rank) { return row_boxes(request, parts[r(rank)][u(rank)]); });
  const Placement columns =
      b.place([&](int rank) { return BoxList{token_box(request, axis, heads[u(rank)], chunks[r(rank)])}; });
  const LayerEntry entry = enter_layer(b, rows);
  const ValueId q = b.reshard(entry.q, columns, all_to_all), kv = b.reshard(entry.kv, columns, all_to_all);
  const ValueId o = ring_attention(b, q, kv, rings, axis, slices);
  leave_layer(b, entry, b.reshard(o, rows, all_to_all));
}

}  // namespace spscope
