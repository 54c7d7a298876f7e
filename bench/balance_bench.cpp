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
//   reported   whether the generators of masks give the imbalance that was reported for real ones: the barrier ratio of
//              even cuts, mean over the layers of a model, against the known cells of Table 1 of db-SP (arXiv
//              2511.23113), within 0.05. docs/masks.md says which settings of the generators were fitted to this
//
// It prints each figure with its limits and exits with 1 when one does not hold. plan_bench says how long plans take.
//
//   balance_bench [--layers N] [--block 64]   N layers spread over the model; without it, all
//   balance_bench --reported [--block 64]
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/config/model.h"
#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/mesh_plan.h"
#include "backend/strategies/plan_reuse.h"
#include "bench/flags.h"

namespace spscope {
namespace {

constexpr int kHeads = 40, kHeadDim = 128, kRanks = 8, kModelLayers = 40, kDenoiseSteps = 50;
constexpr std::array<int, 3> kVideo = {21, 45, 80}, kCoarseVideo = {21, 15, 26};
constexpr std::pair<int, int> kDegrees[] = {{8, 1}, {4, 2}, {2, 4}, {1, 8}};

constexpr double kMostGreedyHeads = 1.03, kMostRefinedHeads = 1.01, kMostBlocks = 1.02;
constexpr double kMostFromReported = 0.05;
constexpr int kFewestReplans = 3, kMostReplans = 8;

struct Options {
  int layers = kModelLayers, block = 64;
  bool reported = false;
};

// The calibrated patterns (docs/masks.md) and their densities.
struct Workload {
  const char* pattern;
  double density;
};
constexpr Workload kWorkloads[] = {{"paro", 0.414}, {"sparge", 0.30}};

BlockMask make_mask(const Workload& workload, std::array<int, 3> grid, int block, int layer, int denoise_step) {
  const Pattern& pattern = *find_pattern(workload.pattern);
  PatternRequest request;
  request.heads = kHeads;
  request.grid = grid;
  request.block = block;
  request.density = workload.density;
  request.layer = layer;
  request.layers = kModelLayers;
  request.denoise_step = denoise_step;
  request.denoise_steps = kDenoiseSteps;
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

// The titles of the figures of one layer at one pair of degrees: imbalance, and the share of blocks that a reward
// moves.
constexpr const char* kFigures[] = {"even",  "snake",    "greedy", "reward 0", "refined",
                                    "moved", "reward 2", "moved",  "cyclic"};
enum Figure { kGreedyHeads = 2, kReward0 = 3, kRefined = 4 };
using Figures = std::array<double, std::size(kFigures)>;

Figures figures(const Request& request, int ulysses, int ring) {
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
  return {ratio(even),     ratio(snake),    ratio(heads_only),
          ratio(greedy),   ratio(refined),  moved(greedy),
          ratio(rewarded), moved(rewarded), ratio(cyclic.decide(request, setting(cyclic, ulysses, ring)))};
}

// Figures against what they may be.
class Limits {
 public:
  void check(const std::string& what, double value, double least, double most) {
    const bool within = value >= least && value <= most;
    hold_ = hold_ && within;
    std::cout << std::left << std::setw(36) << what << std::right << std::setw(10) << value << "  " << least << " to "
              << most << (within ? "" : "  OUTSIDE") << "\n";
  }
  bool hold() const { return hold_; }

 private:
  bool hold_ = true;
};

// Prints the means over layers that are spread over the model, so that a few stand for all.
void run_imbalance(const Workload& workload, const Options& options, Limits& limits) {
  std::array<Figures, std::size(kDegrees)> means = {};
  for (int layer = 0; layer < options.layers; ++layer) {
    const Request request = Request::attention(
        kRanks, kHeads, kHeadDim, make_mask(workload, kVideo, options.block, layer * kModelLayers / options.layers, 0));
    for (std::size_t d = 0; d < means.size(); ++d) {
      const Figures found = figures(request, kDegrees[d].first, kDegrees[d].second);
      for (std::size_t f = 0; f < found.size(); ++f) means[d][f] += found[f] / options.layers;
    }
  }
  std::cout << workload.pattern << ", mean of " << options.layers << " layers\n";
  for (const char* title : {"U", "R"}) std::cout << std::setw(10) << title;
  for (const char* title : kFigures) std::cout << std::setw(10) << title;
  std::cout << "\n";
  for (std::size_t d = 0; d < means.size(); ++d) {
    std::cout << std::setw(10) << kDegrees[d].first << std::setw(10) << kDegrees[d].second;
    for (const double figure : means[d]) std::cout << std::setw(10) << figure;
    std::cout << "\n";
  }
  for (std::size_t d = 0; d < means.size(); ++d) {
    const auto& [ulysses, ring] = kDegrees[d];
    const std::string where = "u" + std::to_string(ulysses) + " r" + std::to_string(ring) + ", ";
    if (ring > 1) {
      limits.check(where + "blocks, reward 0", means[d][kReward0], 1, kMostBlocks);
      continue;
    }
    limits.check(where + "greedy heads", means[d][kGreedyHeads], 1, kMostGreedyHeads);
    limits.check(where + "refined heads", means[d][kRefined], 1, kMostRefinedHeads);
  }
}

// -- reuse

// Requests of all layers that run the masks of `step`; what they know are those of the step before, `last`, which
// becomes those of this one. Nothing is known in the first step.
std::vector<Request> requests_of(int step, int num_layers, std::vector<BlockMask>& last) {
  std::vector<Request> requests;
  for (int layer = 0; layer < num_layers; ++layer)
    requests.push_back(Request::attention(
        kRanks, kHeads, kHeadDim, make_mask(kWorkloads[1], kCoarseVideo, 64, layer * kModelLayers / num_layers, step)));
  for (std::size_t layer = 0; layer < requests.size(); ++layer)
    requests[layer].known_masks[1] =
        last.empty() ? nullptr : std::make_shared<MaskCounter>(requests[layer].sets, last[layer]);
  last.clear();
  for (const Request& request : requests) last.push_back(request.executed_mask().mask());
  return requests;
}

void run_reuse(const Options& options, Limits& limits) {
  const Strategy& dbsp = *find_strategy("dbsp");
  PlanReuse reuse(dbsp, setting(dbsp, kRanks, 1));
  std::vector<BlockMask> last;
  double planned = 0, actual = 0, unbalanced = 0, count = 0;
  std::cout << "\nplanned anew at steps";
  for (int step = 0; step < kDenoiseSteps; ++step) {
    const std::vector<Request> requests = requests_of(step, options.layers, last);
    const std::span<const Decision> decisions = reuse.begin_step(requests);
    if (reuse.decided()) std::cout << ' ' << step;
    if (reuse.num_plans() == 0) continue;
    count += static_cast<double>(requests.size());
    for (std::size_t layer = 0; layer < requests.size(); ++layer) {
      planned += decision_imbalance(requests[layer], decisions[layer]);
      actual += executed_imbalance(requests[layer], decisions[layer]);
      unbalanced += executed_imbalance(requests[layer], decide_mesh(Mesh{kRanks, 1}));
    }
  }
  std::cout << "; imbalance planned " << planned / count << ", actual " << actual / count << ", without balancing "
            << unbalanced / count << "\n";
  limits.check("re-plans", reuse.num_replans(), kFewestReplans, kMostReplans);
}

// -- reported

struct Cell {
  int ulysses, ring;
  double reported;
};
struct ReportedMasks {
  std::string_view model, pattern;
  double density;
  std::vector<std::pair<std::string_view, double>> settings;  // where they differ from the pattern's defaults
  std::vector<Cell> cells;
};

std::vector<ReportedMasks> reported_masks() {
  return {{"wan2.1-t2v-14b", "paro", 0.414, {}, {{8, 1, 1.355}, {1, 8, 1.255}, {4, 2, 1.253}, {2, 4, 1.246}}},
          {"wan2.1-t2v-14b", "sparge", 0.30, {}, {{8, 1, 1.428}}},
          {"cogvideox1.5-5b", "paro", 0.414, {{"kappa", 1.3}, {"profile", 0.045}}, {{8, 1, 1.447}, {1, 8, 1.269}}},
          {"cogvideox1.5-5b", "sparge", 0.30, {{"head_spread", 1.3}}, {{8, 1, 1.513}}}};
}

void run_reported(const ReportedMasks& masks, int block, Limits& limits) {
  const Model& model = *find_model_preset(masks.model);
  const Pattern& pattern = *find_pattern(masks.pattern);
  PatternRequest request;
  request.heads = model.heads;
  request.grid = model.grid;
  request.text_tokens = model.joint_text_tokens;
  request.block = block;
  request.density = masks.density;
  request.seed = 1;
  request.layers = model.layers;
  request.denoise_steps = kDenoiseSteps;
  request.parameters = Parameters(pattern.parameters());
  for (const auto& [name, value] : masks.settings) request.parameters.set(name, value);
  std::vector<double> ratios(masks.cells.size(), 0);
  for (request.layer = 0; request.layer < request.layers; ++request.layer) {
    const BlockMask mask = pattern.generate(request);
    for (std::size_t c = 0; c < ratios.size(); ++c)
      ratios[c] += split_imbalance(mask, masks.cells[c].ulysses, masks.cells[c].ring).barrier / request.layers;
  }
  for (std::size_t c = 0; c < ratios.size(); ++c) {
    const Cell& cell = masks.cells[c];
    limits.check(std::string(masks.model) + " " + std::string(masks.pattern) + " U" + std::to_string(cell.ulysses) +
                     "R" + std::to_string(cell.ring),
                 ratios[c], cell.reported - kMostFromReported, cell.reported + kMostFromReported);
  }
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::Options options;
  if (!spscope::read_flags(argc, argv,
                           {{"--layers", &options.layers, 1, spscope::kModelLayers},
                            {"--block", &options.block, 1, 1000},
                            {"--reported", &options.reported}}))
    return 2;
  spscope::Limits limits;
  std::cout << std::fixed << std::setprecision(3);
  if (options.reported) {
    for (const spscope::ReportedMasks& masks : spscope::reported_masks())
      spscope::run_reported(masks, options.block, limits);
  } else {
    for (const spscope::Workload& workload : spscope::kWorkloads) spscope::run_imbalance(workload, options, limits);
    spscope::run_reuse(options, limits);
  }
  return limits.hold() ? 0 : 1;
}
