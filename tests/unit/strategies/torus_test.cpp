// torus, and usp by the same rule of degrees: bytes to the byte, the time of its stages by a formula, legality, and how
// fast it is planned.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/clock.h"
#include "backend/plan/verify.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/strategy.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

using Settings = std::vector<std::pair<const char*, ParameterValue>>;

// A dense request over equal nodes.
Request on_nodes(int nodes, int ranks_per_node, int heads, std::int32_t tokens, std::int32_t block) {
  const auto all = [](int, int, int) { return true; };
  Request request = Request::attention(nodes * ranks_per_node, heads, 4,
                                       testing::mask_where(heads, BlockMask::uniform_starts(tokens, block), all));
  request.ranks_per_node = ranks_per_node;
  define_outputs(request);
  return request;
}

Parameters parameters_of(const char* name, const Settings& settings) {
  Parameters parameters(find_strategy(name)->parameters());
  for (const auto& [key, value] : settings) parameters.set(key, value);
  return parameters;
}

Plan verified(const char* name, const Request& request, const Settings& settings) {
  Plan plan = make_plan(*find_strategy(name), request, parameters_of(name, settings));
  for (const PlanProblem& problem : verify(plan, request)) ADD_FAILURE() << rule_name(problem.rule) << problem.text;
  return plan;
}

// Bytes that each rank sends to other nodes, or inside its own.
std::vector<std::int64_t> sent(const Plan& plan, int ranks_per_node, bool between) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(plan.ranks), 0);
  for (const Message& m : plan.messages)
    if ((m.src / ranks_per_node != m.dst / ranks_per_node) == between)
      bytes[static_cast<std::size_t>(m.src)] += m.bytes;
  return bytes;
}

TEST(Torus, SendsTheBytesOfItsFormula) {
  for (const int nodes : {2, 3, 4})
    for (const auto& [inside, ring] : {std::pair{1, 1}, {1, 3}, {2, 1}, {2, 2}})
      for (const char* comm : {"two_sided", "one_sided"})
        for (const bool kept : {true, false}) {
          const int ranks = nodes * inside * ring, heads = nodes * inside;
          SCOPED_TRACE(std::to_string(nodes) + " nodes, " + std::to_string(inside) + " x " + std::to_string(ring));
          const Request request = on_nodes(nodes, inside * ring, heads, 12 * ranks, 4);
          const Plan plan = verified("torus", request,
                                     {{"ulysses", std::int64_t{heads}},
                                      {"comm", std::string(comm)},
                                      {"keys", std::string(kept ? "kept" : "again")}});
          const std::int64_t m = 12 * heads * 4 * 2;
          const auto every = [&](std::int64_t bytes) { return std::vector(static_cast<std::size_t>(ranks), bytes); };
          EXPECT_EQ(sent(plan, inside * ring, true), every(4 * (nodes - 1) * m / nodes));
          const std::int64_t rings = kept ? 2 * (ring - 1) * m : 2 * (ring - 1) * m * (3 * nodes - 2) / nodes;
          EXPECT_EQ(sent(plan, inside * ring, false), every(4 * (inside - 1) * m / inside / nodes + rings));
        }
}

// One rank a node, equal attends a and moves of L: Nm stages of queries, Nm - 2 of keys that hide a move, one that
// hides none, and the own rows, which hide the way home.
TEST(Torus, TakesTheTimeOfItsStages) {
  constexpr std::int64_t kAttend = 1000;
  for (const int nodes : {2, 3, 4})
    for (const std::int64_t latency : {0, 500, 1000, 1500, 3000, 5000})
      for (const bool barrier : {false, true})
        for (const char* comm : {"two_sided", "one_sided"}) {
          const Request request = on_nodes(nodes, 1, nodes, nodes * 8, 8);
          const Plan plan = verified(
              "torus", request, {{"comm", std::string(comm)}, {"sync", std::string(barrier ? "barrier" : "signals")}});
          std::vector<std::int64_t> compute_ns;
          for (const Op& op : plan.ops) compute_ns.push_back(plan.kind_of(op) == PostKind::kAttend ? kAttend : 0);
          Network network = Network::instant(nodes);
          network.intra_latency_ns = latency;
          const std::int64_t others = (nodes - 1) * kAttend;
          const std::int64_t expected = nodes * std::max(kAttend, latency) + (nodes - 2) * std::max(others, latency) +
                                        others + std::max(others, latency) + (barrier ? 2 * latency : 0);
          EXPECT_EQ(schedule(plan, compute_ns, network).makespan_ns(), expected)
              << nodes << " nodes, " << latency << (barrier ? " barrier " : " ") << comm;
        }
}

TEST(Torus, IsPlannedAndVerifiedFor192RanksInTwoSeconds) {
  const Request request = on_nodes(24, 8, 48, 192 * 64, 64);
  const std::int64_t begin_ns = thread_cpu_ns();
  const Plan plan = verified("torus", request, {});
  EXPECT_LE(thread_cpu_ns() - begin_ns, 2'000'000'000);
  EXPECT_EQ(plan.ranks, 192);
}

TEST(Torus, ChoosesADegreeThatNodesDivide) {
  const Strategy& torus = *find_strategy("torus");
  const auto degree = [&](int nodes, int per_node, int heads) {
    return torus.decide(on_nodes(nodes, per_node, heads, 64, 8), Parameters(torus.parameters())).ulysses;
  };
  EXPECT_EQ(degree(2, 8, 24), 8) << "gcd";
  EXPECT_EQ(degree(4, 8, 24), 8);
  EXPECT_EQ(degree(4, 8, 30), 16) << "gcd 2 is no multiple of 4 nodes";
  const auto message = [&](const Request& request, std::int64_t ulysses) {
    const auto problems = torus.legal(request, parameters_of("torus", {{"ulysses", ulysses}}));
    return problems.empty() ? "" : problems.front().message;
  };
  EXPECT_EQ(message(on_nodes(4, 2, 3, 64, 8), 0),
            "no ulysses degree up to the 3 heads divides 8 ranks and is a multiple of 4 nodes");
  EXPECT_EQ(message(on_nodes(4, 2, 8, 64, 8), 2),
            "ulysses degree 2 is above the 8 heads, does not divide 8 ranks or is no multiple of 4 nodes");
  EXPECT_EQ(message(on_nodes(1, 8, 8, 64, 8), 0), "needs two or more nodes");
  Request uneven = on_nodes(2, 3, 8, 64, 8);
  uneven.ranks_per_node = 4;
  EXPECT_EQ(message(uneven, 0), "6 ranks leave nodes of 4 unequal");
}

// What it decides is how uneven its plan is: all attention of a rank is that of its heads, rows and keys by ring index.
TEST(Torus, BalancesHeadsAndDealsOutBlocks) {
  const auto band = [](int head, int q, int k) { return std::abs(q - k) <= 2 * head; };
  Request request = Request::attention(8, 8, 4, testing::mask_where(8, BlockMask::uniform_starts(256, 8), band));
  request.ranks_per_node = 4;
  const Strategy& torus = *find_strategy("torus");
  const auto imbalance = [&](const char* heads, const char* order) {
    const Parameters parameters = parameters_of(
        "torus", {{"ulysses", std::int64_t{4}}, {"heads", std::string(heads)}, {"order", std::string(order)}});
    return decision_imbalance(request, torus.decide(request, parameters));
  };
  EXPECT_GT(imbalance("even", "contiguous"), 1.5);
  EXPECT_LT(imbalance("balanced", "cyclic"), 1.05);
}

// Between nodes: USP with Ulysses inside nodes sends 2 (Nm-1) m a rank, by topology 4 (Nm-1)/Nm m.
TEST(Usp, ByTopologySendsHalfAsManyTimesLessAsThereAreNodes) {
  for (const int nodes : {2, 3, 4}) {
    const Request request = on_nodes(nodes, 8, 24, 192 * nodes, 8);
    const auto between = [&](const Settings& settings) { return sent(verified("usp", request, settings), 8, true); };
    const auto contiguous = between({{"ulysses", std::int64_t{8}}}),
               topology = between({{"ranks", std::string("topology")}});
    ASSERT_GT(topology.front(), 0);
    for (std::size_t rank = 0; rank < topology.size(); ++rank) EXPECT_EQ(2 * contiguous[rank], nodes * topology[rank]);
  }
}

TEST(Usp, ByTopologyIsAStridedSettingAndRefusesOtherDegrees) {
  const Strategy& usp = *find_strategy("usp");
  const Request request = on_nodes(2, 4, 12, 96, 4);
  const Settings strided = {{"ulysses", std::int64_t{4}}, {"ranks", std::string("strided")}},
                 topology = {{"ranks", std::string("topology")}};
  EXPECT_EQ(plan_hash(verified("usp", request, strided)), plan_hash(verified("usp", request, topology)));
  EXPECT_FALSE(usp.legal(on_nodes(3, 2, 4, 96, 4), parameters_of("usp", topology)).empty()) << "gcd 2 on 3 nodes";
  Settings other = topology;
  other.emplace_back("ulysses", std::int64_t{2});
  EXPECT_FALSE(usp.legal(request, parameters_of("usp", other)).empty());
}

}  // namespace
}  // namespace spscope
