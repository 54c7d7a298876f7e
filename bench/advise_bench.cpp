// How much slower the strategy that `all` and `advise` would pick is than the best of an exhaustive search: every
// candidate of every strategy, scheduled on the same masks. 60 cells of model x cluster x density x pattern, whole
// layers, three layers each; the limit is 2 % in every cell.
//
//   advise_bench [--block 128]
#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/clock.h"
#include "backend/job/pick_settings.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

constexpr double kMostRegret = 0.02;
constexpr std::string_view kModels[] = {"wan2.1-t2v-14b", "hunyuanvideo", "cogvideox1.5-5b", "wan2.1-t2v-1.3b",
                                        "flux.1-dev"};
constexpr std::string_view kClusters[] = {"h100x8", "l40sx8", "ndr-h100-x2"};
constexpr std::string_view kDensities[] = {"0.15", "0.5"};
constexpr std::string_view kPatterns[] = {"sparge", "radial"};

struct Cell {
  std::string name, best;
  double regret = 0;  // of the picked over the best of all candidates
  int settings = 0;
  double pick_s = 0, search_s = 0;
};

std::int64_t total_ns(const Job& job, std::span<const Request> samples, const Strategy& strategy,
                      const Parameters& parameters) {
  std::int64_t sum = 0;
  for (const Request& request : samples) {
    const Plan plan = make_plan(strategy, request, parameters);
    const Network network = Network::from_profile(job.cluster.preset.network, request.ranks, job.cluster.gpus_per_node);
    sum += schedule(plan, op_durations(plan, job.cluster.preset.cost), network).makespan_ns();
  }
  return sum;
}

double seconds_since(std::int64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

Cell run(const std::vector<std::string>& settings, std::string name) {
  Cell cell;
  cell.name = std::move(name);
  const Job job = load_job({"", {std::string(kAllStrategies)}, settings});
  const ActivationSource activations(job);
  MaskSource masks(job, activations);
  const std::vector<Request> samples = sample_requests(job, masks);
  std::int64_t begin = now_ns(), picked_ns = std::numeric_limits<std::int64_t>::max(), best_ns = picked_ns;
  const std::vector<ChosenStrategy> picked = pick_settings(job, samples);
  cell.pick_s = seconds_since(begin);
  begin = now_ns();
  for (const ChosenStrategy& c : picked) {
    if (c.pick->settings == 0) continue;
    cell.settings += c.pick->settings;
    picked_ns = std::min(picked_ns, total_ns(job, samples, *c.strategy, c.parameters));
    for (const Parameters& parameters : c.strategy->candidates(samples.front())) {
      const std::int64_t ns = total_ns(job, samples, *c.strategy, parameters);
      if (ns < best_ns) cell.best = std::string(c.strategy->name) + " " + parameters.str();
      best_ns = std::min(best_ns, ns);
    }
  }
  cell.search_s = seconds_since(begin);
  cell.regret = static_cast<double>(picked_ns) / static_cast<double>(best_ns) - 1;
  return cell;
}

int run_all(const std::string& block) {
  std::cout << std::fixed << std::setprecision(2);
  double worst = 0;
  int cells = 0;
  for (const std::string_view model : kModels)
    for (const std::string_view cluster : kClusters)
      for (const std::string_view density : kDensities)
        for (const std::string_view pattern : kPatterns) {
          const auto with = [](std::string_view key, std::string_view value) {
            return std::string(key) + "=" + std::string(value);
          };
          const Cell cell = run({with("model.preset", model), with("cluster.preset", cluster),
                                 with("mask.density", density), with("mask.pattern", pattern),
                                 with("mask.block", block), "run.mode=simulate", "run.scope=layer", "run.layers=3"},
                                std::string(model) + " " + std::string(cluster) + " " + std::string(density) + " " +
                                    std::string(pattern));
          std::cout << std::left << std::setw(44) << cell.name << std::right << std::setw(7) << 100 * cell.regret
                    << " %" << std::setw(6) << cell.settings << " settings, picked in " << cell.pick_s
                    << " s, searched in " << cell.search_s << " s, best: " << cell.best << "\n"
                    << std::flush;
          worst = std::max(worst, cell.regret);
          ++cells;
        }
  std::cout << cells << " cells, at most " << 100 * worst << " % slower than an exhaustive search\n";
  return worst <= kMostRegret ? 0 : 1;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  std::string block = "128";
  if (arguments.size() == 2 && std::string_view(arguments[0]) == "--block") {
    block = arguments[1];
  } else if (!arguments.empty()) {
    std::cerr << "usage: advise_bench [--block TOKENS]\n";
    return 2;
  }
  return spscope::run_all(block);
}
