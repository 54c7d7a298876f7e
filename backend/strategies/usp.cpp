// usp (unified sequence parallelism, arXiv 2405.07719): ranks form a U x R mesh. Tokens are cut into R ring chunks at
// block borders and each chunk into U even parts; all-to-alls inside Ulysses groups give each rank a share of heads of
// its chunk; k and v then travel round the ring of ranks with the same heads.
// Sent by all ranks, with equal head shares: (4 (U-1)/U + 2) M bytes, with M the bytes of one tensor
// (docs/strategies.md).
//
// ranks = topology is the rule of StreamFusion (arXiv 2601.20273): strided, so that rings stay inside nodes where U is
// a multiple of the nodes, with U = gcd(N, H).
#include <fmt/format.h>

#include <numeric>

#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

bool by_topology(const Parameters& parameters) { return parameters.text("ranks") == "topology"; }

Mesh mesh_of_usp(const Request& request, const Parameters& parameters) {
  if (!by_topology(parameters)) return mesh_of(request, parameters);
  const int ulysses = std::gcd(request.ranks, request.heads);
  return {ulysses, request.ranks / ulysses, false};
}

void check_topology(const Request& request, const Parameters& parameters, std::vector<Problem>& problems) {
  const Mesh mesh = mesh_of_usp(request, parameters);
  const auto refuse = [&](std::string message, std::string hint) {
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.usp", std::move(message), std::move(hint)});
  };
  const auto differs = [&](const char* name, int chosen) {
    return parameters.integer(name) != 0 && parameters.integer(name) != chosen;
  };
  if (differs("ulysses", mesh.ulysses) || differs("ring", mesh.ring))
    refuse(fmt::format("ranks = topology chooses ulysses {}, ring {}, and other degrees are given", mesh.ulysses,
                       mesh.ring),
           "leave the degrees out, or give ranks = strided with them");
  if (const int nodes = num_nodes(request); mesh.ulysses % nodes != 0)
    refuse(
        fmt::format("ranks = topology chooses ulysses {}, the largest degree that divides {} ranks and {} heads, and "
                    "{} nodes do not divide it",
                    mesh.ulysses, request.ranks, request.heads, nodes),
        "use ranks = strided with degrees of your own");
}

}  // namespace

std::vector<Parameter> parameters_usp() {
  std::vector<Parameter> rows = mesh_parameters();
  rows.back().choices.emplace_back("topology");
  rows.back().help += "; topology: strided with ulysses = gcd(ranks, heads)";
  rows.push_back(token_order_parameter());
  return rows;
}

std::vector<Problem> legal_usp(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_mesh(request, "usp", mesh_of_usp(request, parameters), problems);
  if (by_topology(parameters)) check_topology(request, parameters, problems);
  return problems;
}

// The setting by topology is one of the strided ones.
std::vector<Parameters> candidates_usp(const Request& request) {
  std::vector<Parameters> settings;
  for (Parameters& setting : mesh_candidates(request, parameters_usp()))
    for (const std::string& order : orders_worth_comparing(request)) {
      setting.set("order", order);
      settings.push_back(setting);
    }
  return settings;
}

Decision decide_usp(const Request& request, const Parameters& parameters) {
  return decide_mesh(mesh_of_usp(request, parameters));
}

void plan_usp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh = mesh_of_usp(request, parameters);
  plan_mesh(b, mesh, b.sets().even(request.all_heads(), mesh.ulysses),
            cut_blocks(request, axis, mesh.ring, token_order(parameters)), slices_for(request, axis, mesh.ring));
}

}  // namespace spscope
