#include "backend/job/planned_layer.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "backend/analysis/run_figures.h"
#include "backend/base/clock.h"
#include "backend/base/stop_point.h"
#include "backend/job/plan_size.h"
#include "backend/plan/passes_at_once.h"
#include "backend/plan/verify.h"
#include "backend/schedule/memory.h"

namespace spscope {
namespace {

constexpr std::size_t kShownProblems = 3;

void require_valid(const ChosenStrategy& chosen, const Plan& plan, const Request& request) {
  const std::vector<PlanProblem> problems = verify(plan, request);
  if (problems.empty()) return;
  std::string text = fmt::format("the plan of {} breaks {} rules", chosen.id, problems.size());
  for (std::size_t i = 0; i < std::min(problems.size(), kShownProblems); ++i)
    text += fmt::format("{} {}: {}", i == 0 ? ":" : ";", rule_name(problems[i].rule), problems[i].text);
  throw Error(ErrorCode::kPlanInvalid, text, "this is a defect of the strategy: please report it with the config");
}

// The plain ratio of the plan that the decision makes of the known masks. A plan of the executed masks leaves out
// attends that have no active tile there, so the known work cannot be counted over its ops.
std::optional<double> known_imbalance_ratio(const ChosenStrategy& chosen, const Request& request,
                                            const Decision& decision, double executed_ratio) {
  Request known = request;
  bool same = true;
  for (const int axis : {0, 1}) {
    if (request.executed_masks[axis] == nullptr) continue;
    if (request.known_masks[axis] == nullptr) return std::nullopt;
    same = same && request.known_masks[axis] == request.executed_masks[axis];
    known.executed_masks[axis] = request.known_masks[axis];
  }
  if (same) return executed_ratio;
  const Plan plan = make_plan(*chosen.strategy, known, chosen.parameters, decision);
  return plain_imbalance_ratio(plan, attended_area(plan));
}

}  // namespace

RankMesh mesh_of(const Decision& decision, const Request& request) {
  const int passes = request.passes, ranks = request.ranks / passes;
  return {decision.ulysses, decision.ring, groups_at_once(decision.ulysses_groups, passes, ranks),
          groups_at_once(decision.ring_groups, passes, ranks)};
}

PlannedLayer plan_layer(const ChosenStrategy& chosen, const Request& request, const LayerDecision& decision) {
  PlannedLayer planned;
  planned.mesh = mesh_of(decision.decision, request);
  planned.decided = decision.decided;
  require_room_for_plan(chosen.id, decision.decision, request);
  const std::int64_t begin = now_ns();
  planned.plan = make_plan(*chosen.strategy, request, chosen.parameters, decision.decision);
  const Plan& plan = planned.plan;
  require_valid(chosen, plan, request);
  RunFigures& figures = planned.figures;
  figures.planning_ns = decision.deciding_ns + now_ns() - begin;
  figures.density = request.executed_mask().mask().density();
  planned.volume = plan_volume(plan, request);
  figures.messages = planned.volume.messages;
  stop_point();
  const PlanTiles tiles = plan_tiles(plan, request);
  figures.tiles = tiles.computed;
  figures.tiles_redundant = tiles.redundant;
  planned.tiles_by_rank = tiles.by_rank;
  set_imbalance(figures, imbalance_ratios(plan, attended_area(plan)));
  figures.planned_imbalance_ratio = known_imbalance_ratio(chosen, request, decision.decision, *figures.imbalance_ratio);
  figures.moved_fraction = moved_fraction(plan);
  planned.memory_bound_bytes = memory_bound(plan);
  figures.parameter_bytes = parameter_bytes(plan);
  return planned;
}

Result<PlannedLayer> try_plan_layer(const ChosenStrategy& chosen, const Request& request,
                                    const LayerDecision& decision) {
  Result<PlannedLayer> planned = capture([&] { return plan_layer(chosen, request, decision); });
  if (planned) return planned;
  switch (planned.error().code()) {
    case ErrorCode::kPlanInvalid:
    case ErrorCode::kPlanNotHeld:
    case ErrorCode::kPlanTooLarge:
      return planned;
    default:
      throw planned.error();
  }
}

Problem refusal(const ChosenStrategy& chosen, const Error& error) {
  return {error.code(), "strategy." + std::string(chosen.strategy->name), error.what(), error.hint()};
}

std::vector<Traffic> traffic_of(const Plan& plan, const Request& request) {
  std::map<std::tuple<int, int, std::string>, Traffic> pairs;
  for_each_sent_tensor(plan, request, [&](const Message& m, const char* tensor, std::int64_t bytes, bool first) {
    stop_point();
    Traffic& t = pairs[{m.src, m.dst, tensor}];
    t.src = m.src;
    t.dst = m.dst;
    t.tensor = tensor;
    t.bytes += bytes;
    t.messages += first;
  });
  for_each_index(plan, request, [&](int src, int dst, std::int64_t bytes) {
    Traffic& t = pairs[{src, dst, "metadata"}];
    t.src = src;
    t.dst = dst;
    t.tensor = "metadata";
    t.bytes += bytes;
  });
  std::vector<Traffic> list;
  for (auto& [key, traffic] : pairs) list.push_back(std::move(traffic));
  return list;
}

std::vector<RankUsage> planned_usage(const PlannedLayer& planned) {
  const Plan& plan = planned.plan;
  std::vector<RankUsage> ranks(static_cast<std::size_t>(plan.ranks));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].rank = static_cast<int>(r);
    ranks[r].tiles = planned.tiles_by_rank[r];
    ranks[r].bytes_sent_intra_node = planned.volume.sent_intra_node[r];
    ranks[r].bytes_sent_inter_node = planned.volume.sent_inter_node[r];
    ranks[r].bytes_received = planned.volume.received[r];
    ranks[r].memory_bound_bytes = planned.memory_bound_bytes[r];
  }
  for (const Op& op : plan.ops) ranks[static_cast<std::size_t>(op.rank)].flops += op.flops;
  for (const Message& m : plan.messages)
    if (m.src != m.dst) ++ranks[static_cast<std::size_t>(m.src)].messages;
  return ranks;
}

}  // namespace spscope
