// dsv (DSV, arXiv 2502.07590): head-wise and sequence-wise parallelism for sparse masks. All-to-alls inside a Ulysses
// group give each rank heads and all tokens of its chunk, as in usp; heads go to the lightest rank of the group,
// whatever number it has. Then each rank fetches, from the ranks that have the same heads in other chunks, those blocks
// of k and v that some row of it needs, in one exchange. Heads and degrees follow from the mask that is known; the
// fetch follows from the mask that runs, whose rows a rank has before it asks (strategy.h). A barrier stands for the
// exchanges of lengths and indices before it, whose bytes are reported as `metadata`. Sent by all ranks: the
// all-to-alls of usp, with uneven heads, and 2 bytes of k and v for each fetched channel, at most the 2 M of a
// ring.
#include <algorithm>

#include "backend/base/ids.h"
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// What one exchange of a fetch takes beside its bytes: of DSV's solver (optim_solve/solver.cc of its branch `ae`).
constexpr double kFetchOverheadNs = 0.5e6;

// Bytes a nanosecond of one rank to others of its node, and to other nodes. Without a cluster nothing counts as slow.
struct Rates {
  double inside = 0, between = 0;
};
Rates rates_of(const Request& request) {
  if (request.cluster == nullptr) return {};
  const NetworkProfile& network = request.cluster->network;
  const double inside = network.all_to_all.gbps > 0 ? network.all_to_all.gbps : network.link_gbps;
  const int sharing = std::max(1, std::min(request.ranks, request.ranks_per_node));
  return {inside, network.nic_gbps > 0 ? network.nic_gbps / sharing : inside};
}

// Time in which a rank of a group sends `bytes` to each other member, the slower of inside a node and between nodes.
double to_each_ns(const Request& request, const std::vector<int>& group, double bytes) {
  const Rates rates = rates_of(request);
  if (rates.inside == 0) return 0;
  const auto node = [&](int rank) { return request.ranks_per_node > 0 ? rank / request.ranks_per_node : 0; };
  const auto near = std::ranges::count_if(group, [&](int rank) { return node(rank) == node(group.front()); });
  const auto far = std::ssize(group) - near;
  return std::max(bytes * static_cast<double>(near - 1) / rates.inside,
                  bytes * static_cast<double>(far) / rates.between);
}

IndexGroups uncapped_heads(const Request& request, int ulysses) {
  MaskCounter* known = request.known_mask(spread_axis(request));
  return known == nullptr ? even_groups(request.heads, ulysses) : deal_uncapped(known->area_sums().heads, ulysses);
}

// DSV's estimate for a mesh: attention of the Ulysses rank with most of it, cut evenly over its chunks, the
// all-to-alls, and a fetch of as large a share of the keys as the mask is dense; nothing overlaps. Dense where no mask
// is known.
double estimated_ns(const Request& request, const Mesh& mesh) {
  const AttendedAxis axis = spread_axis(request);
  const bool inner = axis == AttendedAxis::kInner;
  const double tokens = inner ? request.inner_tokens : request.outer_tokens;
  const double sequences = static_cast<double>(inner ? request.outer_tokens : request.inner_tokens) * request.batch;
  std::vector<std::int64_t> weights(at(request.heads), static_cast<std::int64_t>(tokens * tokens));
  if (MaskCounter* known = request.known_mask(axis)) weights = known->area_sums().heads;
  const IndexGroups heads = uncapped_heads(request, mesh.ulysses);
  const std::vector<std::int64_t> sums = group_sums(heads, weights);
  const auto busiest = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  const double area = static_cast<double>(sums[busiest]) * sequences / mesh.ring;
  const double rows = static_cast<double>(heads[busiest].size()) * tokens * sequences / mesh.ring;
  double total = 0;
  for (const std::int64_t weight : weights) total += static_cast<double>(weight);
  const double density = total / (tokens * tokens * request.heads);
  const double share =
      tokens * sequences * request.heads * request.head_dim * dtype_bytes(request.dtype) / request.ranks;
  double ns = request.cluster == nullptr ? area : request.cluster->cost.attend_ns(rows, area, request.head_dim);
  ns += to_each_ns(request, mesh.ulysses_groups().front(), 4 * share / mesh.ulysses);
  if (mesh.ring > 1)
    ns += to_each_ns(request, mesh.ring_groups().front(), 2 * share * density) +
          (request.cluster == nullptr ? 0 : kFetchOverheadNs);
  return ns;
}

// Of all legal degrees those of the least estimate; ties: the larger Ulysses degree.
Mesh chosen_mesh(const Request& request, const Parameters& parameters) {
  Mesh given = mesh_of(request, parameters);
  if (parameters.integer("ulysses") > 0 || parameters.integer("ring") > 0) return given;
  double least_ns = -1;
  Mesh best = given;
  for (int ulysses = std::min(request.ranks, request.heads); ulysses >= 1; --ulysses) {
    const Mesh mesh{ulysses, request.ranks / ulysses, given.contiguous};
    if (ulysses * mesh.ring != request.ranks || (mesh.ring > 1 && replicates_text(request))) continue;
    const double ns = estimated_ns(request, mesh);
    if (least_ns >= 0 && ns >= least_ns) continue;
    least_ns = ns;
    best = mesh;
  }
  return best;
}

// By rank: the blocks of other chunks that some row of it needs, head by head.
Placement fetched_blocks(PlanBuilder& b, const Mesh& mesh, const IndexGroups& heads, const std::vector<SetId>& chunks) {
  const Request& request = b.request();
  const AttendedAxis axis = spread_axis(request);
  MaskCounter& mask = request.executed_mask(axis).refined(slices_for(request, axis, mesh.ring));
  const std::span<const SetId> blocks = mask.blocks();
  std::vector<int> chunk_of(blocks.size());
  const IndexGroups even = even_groups(static_cast<int>(blocks.size()), mesh.ring);  // as cut_blocks() cuts
  for (std::size_t chunk = 0; chunk < even.size(); ++chunk)
    for (const std::int32_t block : even[chunk]) chunk_of[at(block)] = static_cast<int>(chunk);
  return b.place([&](int rank) {
    BoxList boxes;
    const int chunk = mesh.ring_index(rank);
    for (const std::int32_t head : heads[at(mesh.ulysses_index(rank))]) {
      const SetId one = b.sets().span(head, head + 1);
      std::vector<SetId> needed;
      for (const std::int32_t block : mask.needed_blocks(one, chunks[at(chunk)]))
        if (chunk_of[at(block)] != chunk) needed.push_back(blocks[at(block)]);
      boxes.push_back(token_box(request, axis, one, b.sets().unite(needed)));
    }
    return boxes;
  });
}

}  // namespace

std::vector<Parameter> parameters_dsv() {
  std::vector<Parameter> rows = mesh_parameters();
  rows[0].help = "Ulysses degree; 0: ranks / ring degree, and both 0: chosen for each layer as DSV's solver does";
  rows[1].help = "groups that fetch from each other; 0: ranks / Ulysses degree, and both 0: chosen for each layer";
  rows.push_back(Parameter::flag("overlap", false, "whether a rank attends its own keys while it fetches others"));
  return rows;
}

std::vector<Problem> legal_dsv(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_mesh(request, "dsv", mesh_of(request, parameters), problems);
  return problems;
}

// Without sparse masks it is allgather_kv. Heads are cut inside nodes, as published; a fetch that hides nothing is
// hardly ever faster.
std::vector<Parameters> candidates_dsv(const Request& request) {
  std::vector<Parameters> settings;
  if (known_dense(request)) return settings;
  for (Parameters& setting : mesh_candidates(request, parameters_dsv(), true)) {
    if (setting.text("ranks") != "contiguous") continue;
    setting.set("overlap", setting.integer("ring") > 1);
    settings.push_back(std::move(setting));
  }
  return settings;
}

Decision decide_dsv(const Request& request, const Parameters& parameters) {
  const Mesh mesh = chosen_mesh(request, parameters);
  Decision decision = decide_mesh(mesh);
  decision.heads = uncapped_heads(request, mesh.ulysses);
  return decision;
}

void plan_dsv(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision& decision) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh{decision.ulysses, decision.ring, parameters.text("ranks") == "contiguous"};
  const Groups all_to_all = mesh.ulysses_groups(), fetching = mesh.ring_groups();
  const std::vector<SetId> heads = heads_of(request, decision.heads);
  const std::vector<SetId> chunks = cut_blocks(request, axis, mesh.ring, TokenOrder::kContiguous);
  std::vector<std::vector<SetId>> parts;
  for (const SetId chunk : chunks)
    parts.push_back(
        b.sets().even(replicates_text(request) ? b.sets().minus(chunk, request.words()) : chunk, mesh.ulysses));
  const auto u = [&](int rank) { return at(mesh.ulysses_index(rank)); };
  const auto r = [&](int rank) { return at(mesh.ring_index(rank)); };
  const Placement rows = b.place([&](int rank) { return row_boxes(request, parts[r(rank)][u(rank)]); });
  const Placement columns =
      b.place([&](int rank) { return BoxList{token_box(request, axis, heads[u(rank)], chunks[r(rank)])}; });
  const LayerEntry entry = enter_layer(b, rows);
  const ValueId q = b.reshard(entry.q, columns, all_to_all), kv = b.reshard(entry.kv, columns, all_to_all);
  const AccId acc = b.accumulate(q, axis, slices_for(request, axis, mesh.ring));
  if (mesh.ring == 1) {
    b.attend(acc, kv);
  } else {
    b.barrier(fetching);
    const Move fetch = b.exchange_by_index(kv, fetched_blocks(b, mesh, decision.heads, chunks), fetching);
    if (parameters.flag("overlap")) {
      b.attend(acc, kv);
      b.attend(acc, b.wait(fetch), 1);
    } else {
      const ValueId all[] = {kv, b.wait(fetch)};
      b.attend(acc, b.view(all));
    }
  }
  leave_layer(b, entry, b.reshard(b.finish(acc), rows, all_to_all));
}

}  // namespace spscope
