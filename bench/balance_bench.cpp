// How even the balancing strategies make a layer of Wan2.1-14B at 720p (40 heads, 1,182 blocks of 64 tokens, the last
// with 16) on 8 ranks, and how often plans are made anew over the denoise steps.
//
//   imbalance  barrier ratio, mean over layers: even cuts, heads dealt in snake order, heads by greedy, and refined;
//              blocks in order, by greedy without and with the default reward (and the share of blocks that it moves:
//              mean of rows and columns), dealt out in turn. At most 1.03 for greedy heads and 1.01 for refined ones
//              (U8 R1), and 1.02 for blocks without reward (ring degrees above 1)
//   reuse      50 denoise steps at U8 R1: what the last step's masks say decides (mask lag 1); 3 to 8 re-plans. Coarser
//              video, since only the heads' shares matter
//
// It prints each figure with its limits and exits with 1 when one does not hold. plan_bench says how long plans take.
//
//   balance_bench [--layers N] [--block 64] [--steps 50]
//
// N layers spread over the model; without it, all.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/mask/pattern.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/mesh_plan.h"
#include "backend/strategies/plan_reuse.h"
#include "bench/flags.h"

namespace spscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHeads = 40, kHeadDim = 128, kRanks = 8, kModelLayers = 40;
constexpr std::array<int, 3> kVideo = {21, 45, 80}, kCoarseVideo = {21, 15, 26};
constexpr std::pair<int, int> kDegrees[] = {{8, 1}, {4, 2}, {2, 4}, {1, 8}};

constexpr double kMostGreedyHeads = 1.03, kMostRefinedHeads = 1.01, kMostBlocks = 1.02;
constexpr int kFewestReplans = 3, kMostReplans = 8;

struct Options {
  int layers = kModelLayers, block = 64, steps = 50;
};

// The calibrated patterns (docs/masks.md) and their densities.
struct Workload {
  const char* pattern;
  double density;
};
constexpr Workload kWorkloads[] = {{"paro", 0.414}, {"sparge", 0.30}};

// Where a mask stands in a run.
struct Position {
  int layer = 0, denoise_step = 0, denoise_steps = 50;
};

BlockMask make_mask(const Workload& workload, std::array<int, 3> grid, int block, const Position& position) {
  const Pattern& pattern = *find_pattern(workload.pattern);
  PatternRequest request;
  request.heads = kHeads;
  request.grid = grid;
  request.block = block;
  request.density = workload.density;
  request.layer = position.layer;
  request.layers = kModelLayers;
  request.denoise_step = position.denoise_step;
  request.denoise_steps = position.denoise_steps;
  request.parameters = Parameters(pattern.parameters());
  return pattern.generate(request);
}

Parameters setting(const Strategy& strategy, int ulysses, int ring) {
  Parameters parameters(strategy.parameters());
  if (parameters.has("ulysses")) parameters.set("ulysses", std::int64_t{ulysses});
  if (parameters.has("ring")) parameters.set("ring", std::int64_t{ring});
  return parameters;
}

// -- imbalance

// Figures of one layer at one pair of degrees, in a fixed order.
std::vector<std::pair<const char*, double>> figures(const Request& request, int ulysses, int ring) {
  const Strategy &dbsp = *find_strategy("dbsp"), &cyclic = *find_strategy("cyclic");
  const IndexGroups home = even_groups(num_cut_blocks(request), ring);
  const auto ratio = [&](const Decision& decision) { return decision_imbalance(request, decision); };
  Parameters parameters = setting(dbsp, ulysses, ring);
  const Decision rewarded = dbsp.decide(request, parameters);
  parameters.set("reward", 0.0);
  const Decision greedy = dbsp.decide(request, parameters);
  parameters.set("refine", true);
  const Decision refined = dbsp.decide(request, parameters);
  Decision even = greedy, snake = greedy, heads_only = greedy;
  even.heads = even_groups(kHeads, ulysses);
  snake.heads = deal_snake(request.known_mask()->area_sums().heads, ulysses);
  for (Decision* decision : {&even, &snake, &heads_only}) decision->query_blocks = decision->key_blocks = home;
  const auto moved = [&](const Decision& d) {
    return (moved_fraction(transfer_matrix(home, d.query_blocks)) +
            moved_fraction(transfer_matrix(home, d.key_blocks))) /
           2;
  };
  return {{"even", ratio(even)},
          {"snake", ratio(snake)},
          {"heads", ratio(heads_only)},
          {"reward_0", ratio(greedy)},
          {"reward_0_refined", ratio(refined)},
          {"reward_0_moved", moved(greedy)},
          {"reward_default", ratio(rewarded)},
          {"reward_default_moved", moved(rewarded)},
          {"cyclic", ratio(cyclic.decide(request, setting(cyclic, ulysses, ring)))}};
}

Json imbalance_of(const Workload& workload, const Options& options) {
  const int layers = options.layers;
  Json result = Json::array();
  for (const auto& [ulysses, ring] : kDegrees)
    result.push_back({{"pattern", workload.pattern}, {"ulysses", ulysses}, {"ring", ring}});
  double density = 0;
  for (int layer = 0; layer < layers; ++layer) {
    // Layers spread over the model, so that a few stand for all.
    const Request request = Request::attention(
        kRanks, kHeads, kHeadDim, make_mask(workload, kVideo, options.block, {.layer = layer * kModelLayers / layers}));
    density += request.executed_mask().mask().density() / layers;
    for (Json& row : result)
      for (const auto& [name, value] : figures(request, row["ulysses"], row["ring"]))
        row[name] = row.value(name, 0.0) + value / layers;
  }
  for (Json& row : result) row["density"] = density;
  return result;
}

// A figure against what it may be.
struct Check {
  std::string what;
  double value = 0, least = 0, most = 0;
  bool within() const { return value >= least && value <= most; }
};

void check_imbalance(const Json& rows, std::vector<Check>& checks) {
  for (const Json& row : rows) {
    const int ulysses = row["ulysses"], ring = row["ring"];
    const std::string where =
        row["pattern"].get<std::string>() + " u" + std::to_string(ulysses) + " r" + std::to_string(ring) + ", ";
    if (ring == 1) {
      checks.push_back({where + "greedy heads", row["heads"], 1, kMostGreedyHeads});
      checks.push_back({where + "refined heads", row["reward_0_refined"], 1, kMostRefinedHeads});
    } else {
      checks.push_back({where + "blocks, reward 0", row["reward_0"], 1, kMostBlocks});
    }
  }
}

// -- reuse

// Requests of all layers whose known masks are those of `known_step`, and which run those of `step`. -1: nothing known.
class Steps {
 public:
  Steps(int num_layers, int num_steps) : num_layers_(num_layers), num_steps_(num_steps) {}

  std::vector<Request> begin(int step) {
    std::vector<Request> requests;
    for (int layer = 0; layer < num_layers_; ++layer)
      requests.push_back(Request::attention(
          kRanks, kHeads, kHeadDim,
          make_mask(kWorkloads[1], kCoarseVideo, 64, {layer * kModelLayers / num_layers_, step, num_steps_})));
    for (std::size_t layer = 0; layer < requests.size(); ++layer) {
      std::shared_ptr<MaskCounter>& known = requests[layer].known_masks[1];
      known = last_.empty() ? nullptr : std::make_shared<MaskCounter>(requests[layer].sets, last_[layer]);
    }
    last_.clear();
    for (const Request& request : requests) last_.push_back(request.executed_mask().mask());
    return requests;
  }

 private:
  int num_layers_, num_steps_;
  std::vector<BlockMask> last_;
};

Json reuse_over_steps(int num_layers, int num_steps) {
  const Strategy& dbsp = *find_strategy("dbsp");
  PlanReuse reuse(dbsp, setting(dbsp, kRanks, 1));
  Steps steps(num_layers, num_steps);
  Json plan_steps = Json::array();
  double planned = 0, actual = 0, unbalanced = 0, count = 0;
  for (int step = 0; step < num_steps; ++step) {
    const std::vector<Request> requests = steps.begin(step);
    const std::span<const Decision> decisions = reuse.begin_step(requests);
    if (reuse.decided()) plan_steps.push_back(step);
    if (reuse.num_plans() == 0) continue;
    count += static_cast<double>(requests.size());
    for (std::size_t layer = 0; layer < requests.size(); ++layer) {
      planned += decision_imbalance(requests[layer], decisions[layer]);
      actual += executed_imbalance(requests[layer], decisions[layer]);
      unbalanced += executed_imbalance(requests[layer], decide_mesh(Mesh{kRanks, 1}));
    }
  }
  return {{"steps", num_steps},         {"replans", reuse.num_replans()}, {"plan_steps", plan_steps},
          {"planned", planned / count}, {"actual", actual / count},       {"unbalanced", unbalanced / count}};
}

// -- output

void print_number(std::ostream& out, const Json& value, int width) {
  out << std::setw(width);
  if (value.is_number_integer())
    out << value.get<int>();
  else
    out << value.get<double>();
}

void print_imbalance(const Json& results, std::ostream& out) {
  constexpr std::pair<const char*, const char*> kColumns[] = {{"ulysses", "U"},
                                                              {"ring", "R"},
                                                              {"even", "even"},
                                                              {"snake", "snake"},
                                                              {"heads", "greedy"},
                                                              {"reward_0", "reward 0"},
                                                              {"reward_0_refined", "refined"},
                                                              {"reward_0_moved", "moved"},
                                                              {"reward_default", "reward 2"},
                                                              {"reward_default_moved", "moved"},
                                                              {"cyclic", "cyclic"},
                                                              {"density", "density"}};
  out << std::fixed << std::setprecision(3) << "imbalance, mean of " << results["layers"].get<int>() << " layers\n"
      << std::setw(8) << "";
  for (const auto& [key, title] : kColumns) out << std::setw(10) << title;
  for (const Json& row : results["imbalance"]) {
    out << "\n" << std::left << std::setw(8) << row["pattern"].get<std::string>() << std::right;
    for (const auto& [key, title] : kColumns) print_number(out, row[key], 10);
  }
  out << "\n";
}

void print_reuse(const Json& reuse, std::ostream& out) {
  out << "\nreuse: " << reuse["replans"].get<int>() << " re-plans in " << reuse["steps"].get<int>() << " steps, at "
      << reuse["plan_steps"].dump() << "; imbalance planned " << reuse["planned"].get<double>() << ", actual "
      << reuse["actual"].get<double>() << ", without balancing " << reuse["unbalanced"].get<double>() << "\n";
}

void print(const Json& results, const std::vector<Check>& checks, std::ostream& out) {
  print_imbalance(results, out);
  print_reuse(results["reuse"], out);
  out << "\nlimits\n";
  for (const Check& check : checks)
    out << std::left << std::setw(36) << check.what << std::right << std::setw(10) << check.value << "  " << check.least
        << " to " << check.most << (check.within() ? "" : "  OUTSIDE") << "\n";
}

Json run(const Options& options) {
  Json results = {{"layers", options.layers}, {"block", options.block}};
  for (const Workload& workload : kWorkloads)
    for (Json& row : imbalance_of(workload, options)) results["imbalance"].push_back(std::move(row));
  results["reuse"] = reuse_over_steps(options.layers, options.steps);
  return results;
}

std::vector<Check> check(const Json& results) {
  std::vector<Check> checks;
  check_imbalance(results["imbalance"], checks);
  checks.push_back({"re-plans", results["reuse"]["replans"], kFewestReplans, kMostReplans});
  return checks;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::Options options;
  if (!spscope::read_flags(argc, argv,
                           {{"--layers", &options.layers, 1, spscope::kModelLayers},
                            {"--block", &options.block, 1, 1000},
                            {"--steps", &options.steps, 1, 1000}})) {
    std::cerr << "usage: balance_bench [--layers 1..40] [--block N] [--steps N]\n";
    return 2;
  }
  const spscope::Json results = spscope::run(options);
  const std::vector<spscope::Check> checks = spscope::check(results);
  spscope::print(results, checks, std::cout);
  return std::ranges::all_of(checks, &spscope::Check::within) ? 0 : 1;
}
