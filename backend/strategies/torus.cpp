// torus (StreamFusion, arXiv 2601.20273): Ulysses groups span the nodes and rings stay inside them, as under usp with
// ranks = topology, and the all-to-alls between nodes are broken up into stages that hide behind attention
// (torus_attention.h). Rank = (t Uin + u) R + r at node t of Nm, with Uin = U / Nm; its heads are part t Uin + u of U;
// tokens are cut into Nm R chunks at block borders, and chunk t R + r to the token among its Uin ranks.
// Bytes of a rank, with m = M / N and even cuts: between nodes 4 (Nm-1)/Nm m; inside them 4 (Uin-1)/Uin m / Nm, and of
// the rings 2 m where keys stay, 2 m (3 Nm - 2)/Nm where each stage sends them round again.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "backend/base/ids.h"
#include "backend/strategies/mesh_plan.h"
#include "backend/strategies/torus_attention.h"

namespace spscope {
namespace {

bool holds_torus(const Request& request, int ulysses) {
  return ulysses <= request.heads && request.ranks % ulysses == 0 && ulysses % num_nodes(request) == 0;
}

// Every degree that is legal, the largest first.
std::vector<int> torus_degrees(const Request& request) {
  std::vector<int> degrees;
  for (int u = std::min(request.ranks, request.heads); u >= 1; --u)
    if (holds_torus(request, u)) degrees.push_back(u);
  return degrees;
}

// StreamFusion's gcd(N, H), or where nodes do not divide it the largest that is legal; 0: there is none.
int default_torus_degree(const Request& request) {
  const int common = std::gcd(request.ranks, request.heads);
  if (holds_torus(request, common)) return common;
  const std::vector<int> degrees = torus_degrees(request);
  return degrees.empty() ? 0 : degrees.front();
}

Mesh mesh_of_torus(const Request& request, const Parameters& parameters) {
  const int given = parameters.integer("ulysses"), ulysses = given > 0 ? given : default_torus_degree(request);
  return {ulysses, request.ranks / ulysses, false};
}

// Blocks of each chunk, as block_slices() cuts them.
IndexGroups torus_chunks(const Request& request, const Parameters& parameters, const Mesh& mesh) {
  const int blocks = num_cut_blocks(request), chunks = num_nodes(request) * mesh.ring;
  return token_order(parameters) == TokenOrder::kCyclic ? cyclic_groups(blocks, chunks) : even_groups(blocks, chunks);
}

}  // namespace

std::vector<Parameter> parameters_torus() {
  return {
      Parameter::integer("ulysses", 0, 0, 65536, "ranks",
                         "Ulysses degree, a multiple of the nodes; 0: gcd(ranks, heads), or the largest that is one"),
      Parameter::choice("heads", {"even", "balanced"}, "whether heads are cut in order or balanced by the known mask"),
      token_order_parameter(),
      Parameter::choice("comm", {"two_sided", "one_sided"},
                        "whether both ends of a message post it, or one end pulls or pushes"),
      Parameter::choice("sync", {"signals", "barrier"},
                        "what one-sided ranks wait for: what they read of each other, or also all ranks, before and "
                        "after"),
      Parameter::choice("keys", {"kept", "again"},
                        "whether keys that went round a ring stay at its ranks or each stage sends them round again")};
}

std::vector<Problem> legal_torus(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string message, std::string hint) {
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.torus", std::move(message), std::move(hint)});
  };
  const int nodes = num_nodes(request), given = parameters.integer("ulysses");
  if (nodes < 2) {
    refuse("needs two or more nodes", "use several nodes, or usp");
    return problems;
  }
  if (request.ranks % request.ranks_per_node != 0) {
    refuse(fmt::format("{} ranks leave nodes of {} unequal", request.ranks, request.ranks_per_node),
           "use whole nodes, or usp");
    return problems;
  }
  if (replicates_text(request))
    refuse(fmt::format("cannot keep its {} text tokens replicated", request.text_tokens), "set run.text = \"shard\"");
  const std::vector<int> degrees = torus_degrees(request);
  if (degrees.empty())
    refuse(fmt::format("no ulysses degree up to the {} heads divides {} ranks and is a multiple of {} nodes",
                       request.heads, request.ranks, nodes),
           "use usp");
  else if (given > 0 && !holds_torus(request, given))
    refuse(
        fmt::format("ulysses degree {} is above the {} heads, does not divide {} ranks or is no multiple of {} nodes",
                    given, request.heads, request.ranks, nodes),
        fmt::format("use one of {}", fmt::join(degrees, ", ")));
  return problems;
}

// Where masks are sparse, balanced: what overlap gains, uneven heads or blocks lose. Attends grow with the square of
// the nodes: where they are too many to compare, there is nothing to compare.
std::vector<Parameters> candidates_torus(const Request& request) {
  Parameters setting(parameters_torus());
  if (!legal_torus(request, setting).empty()) return {};
  if (!known_dense(request)) {
    setting.set("heads", std::string("balanced"));
    setting.set("order", std::string("cyclic"));
  }
  std::vector<Parameters> settings;
  constexpr std::int64_t kMostAttends = 1 << 17;
  const std::int64_t nodes = num_nodes(request);
  for (const int ulysses : torus_degrees(request)) {
    if (nodes * nodes * (request.ranks / ulysses) * request.ranks > kMostAttends) continue;
    for (const char* comm : {"two_sided", "one_sided"}) {
      setting.set("ulysses", std::int64_t{ulysses});
      setting.set("comm", std::string(comm));
      settings.push_back(setting);
    }
  }
  return settings;
}

Decision decide_torus(const Request& request, const Parameters& parameters) {
  const Mesh mesh = mesh_of_torus(request, parameters);
  Decision decision = decide_mesh(mesh);
  decision.rounds = num_nodes(request) * num_nodes(request);
  decision.heads = parameters.text("heads") == "balanced" ? balanced_heads(request, mesh.ulysses)
                                                          : even_groups(request.heads, mesh.ulysses);
  const IndexGroups chunks = torus_chunks(request, parameters, mesh);
  decision.query_blocks.resize(at(mesh.ring));
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk)
    std::ranges::copy(chunks[chunk], std::back_inserter(decision.query_blocks[chunk % at(mesh.ring)]));
  for (std::vector<std::int32_t>& blocks : decision.query_blocks) std::ranges::sort(blocks);
  decision.key_blocks = decision.query_blocks;
  return decision;
}

void plan_torus(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision& decision) {
  const Mesh mesh = mesh_of_torus(request, parameters);
  const TorusCut cut{.nodes = num_nodes(request),
                     .mesh = mesh,
                     .heads = heads_of(request, decision.heads),
                     .chunks = tokens_of(request, torus_chunks(request, parameters, mesh)),
                     .slices = block_slices(request)};
  const TorusWay way{.one_sided = parameters.text("comm") == "one_sided",
                     .barrier = parameters.text("sync") == "barrier",
                     .keeps = parameters.text("keys") == "kept"};
  const LayerEntry entry = enter_layer(b, torus_rows(b, cut));
  leave_layer(b, entry, torus_attention(b, cut, way, entry.q, entry.kv));
}

}  // namespace spscope
