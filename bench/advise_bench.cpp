// How much slower the strategy that `advise` picks is than the best of an exhaustive search: every candidate of every
// strategy, scheduled on the same masks, two layers of three seeds. 60 cells of model x cluster x density x pattern,
// whole layers; the limit is 2 % in every cell. The same on masks that the pick has not seen is printed beside it.
//
//   advise_bench [--block 128] [--model NAME]
#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/clock.h"
#include "backend/job/pick_settings.h"
#include "backend/schedule/memory_need.h"
#include "bench/flags.h"

namespace spscope {
namespace {

constexpr double kMostRegret = 0.02;
constexpr int kSeeds = 3;
constexpr std::string_view kModels[] = {"wan2.1-t2v-14b", "hunyuanvideo", "cogvideox1.5-5b", "wan2.1-t2v-1.3b",
                                        "flux.1-dev"};
constexpr std::string_view kClusters[] = {"h100x8", "l40sx8", "ndr-h100-x2"};
constexpr std::string_view kDensities[] = {"0.15", "0.5"};
constexpr std::string_view kPatterns[] = {"sparge", "radial"};

struct Cell {
  std::string name, best;
  double regret = 0;  // of the fastest picked one over the best of all candidates, on the masks of the answer
  double unseen = 0;  // the same on masks of another seed
  int settings = 0;
  double pick_s = 0, search_s = 0;
};

double seconds_since(std::int64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

// As `advise` samples the job whose masks have the seed.
std::vector<Request> samples_of(Job job, std::uint64_t seed) {
  job.config.mask.seed = seed;
  const ActivationSource activations(job);
  MaskSource masks(job, activations);
  return sample_requests(job, masks);
}

// Sums of makespans over the samples; nothing for a setting that is refused or does not fit.
std::optional<std::int64_t> total_ns(const Job& job, std::span<const Request> samples, const Strategy& strategy,
                                     const Parameters& parameters) {
  std::int64_t sum = 0;
  for (const Request& request : samples) {
    if (!strategy.legal(request, parameters).empty()) return std::nullopt;
    const Plan plan = make_plan(strategy, request, parameters);
    if (!memory_need(plan, job.model, job.config.run.weights, job.cluster.preset.device).fits()) return std::nullopt;
    sum += scheduled_ns(job, plan);
  }
  return sum;
}

// The least of all settings, with its text.
struct Search {
  std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
  std::string best;

  void add(const Job& job, std::span<const Request> samples, const Strategy& strategy, const Parameters& parameters) {
    const std::optional<std::int64_t> ns = total_ns(job, samples, strategy, parameters);
    if (!ns || *ns >= best_ns) return;
    best_ns = *ns;
    best = std::string(strategy.name) + " " + parameters.str();
  }
  double regret_of(const Search& picked) const {
    return best.empty() ? 0 : static_cast<double>(picked.best_ns) / static_cast<double>(best_ns) - 1;
  }
};

Cell run(const std::vector<std::string>& settings, std::string name) {
  Cell cell;
  cell.name = std::move(name);
  const Job job = load_job({"", {std::string(kAllStrategies)}, settings});
  std::vector<Request> samples;
  for (int i = 0; i < kSeeds; ++i)
    std::ranges::move(samples_of(job, job.config.mask.seed + static_cast<std::uint64_t>(i)),
                      std::back_inserter(samples));
  const std::vector<Request> others = samples_of(job, job.config.mask.seed + kSeeds);
  std::int64_t begin = now_ns();
  const std::vector<ChosenStrategy> picked = pick_settings(job, samples);
  cell.pick_s = seconds_since(begin);
  begin = now_ns();
  Search of_picked, of_all, of_picked_unseen, of_all_unseen;
  for (const ChosenStrategy& c : picked) {
    if (c.pick->settings == 0) continue;
    of_picked.add(job, samples, *c.strategy, c.parameters);
    of_picked_unseen.add(job, others, *c.strategy, c.parameters);
  }
  for (const ChosenStrategy& c : job.strategies)
    for (const Parameters& parameters : c.strategy->candidates(samples.front())) {
      ++cell.settings;
      of_all.add(job, samples, *c.strategy, parameters);
      of_all_unseen.add(job, others, *c.strategy, parameters);
    }
  cell.search_s = seconds_since(begin);
  cell.best = of_all.best;
  cell.regret = of_all.regret_of(of_picked);
  cell.unseen = of_all_unseen.regret_of(of_picked_unseen);
  return cell;
}

// `only`: the one model to look at; "": all.
int run_all(const std::string& block, std::string_view only) {
  std::cout << std::fixed << std::setprecision(2);
  double worst = 0, worst_unseen = 0;
  int cells = 0;
  for (const std::string_view model : kModels)
    for (const std::string_view cluster : kClusters)
      for (const std::string_view density : kDensities)
        for (const std::string_view pattern : kPatterns) {
          if (!only.empty() && model != only) continue;
          const auto with = [](std::string_view key, std::string_view value) {
            return std::string(key) + "=" + std::string(value);
          };
          const Cell cell =
              run({with("model.preset", model), with("cluster.preset", cluster), with("mask.density", density),
                   with("mask.pattern", pattern), with("mask.block", block), "run.mode=simulate", "run.scope=layer",
                   "run.layers=spread:2"},
                  std::string(model) + " " + std::string(cluster) + " " + std::string(density) + " " +
                      std::string(pattern));
          std::cout << std::left << std::setw(44) << cell.name << std::right << std::setw(7) << 100 * cell.regret
                    << " %, other masks " << std::setw(6) << 100 * cell.unseen << " %" << std::setw(6) << cell.settings
                    << " settings, picked in " << cell.pick_s << " s, searched in " << cell.search_s
                    << " s, best: " << cell.best << "\n"
                    << std::flush;
          worst = std::max(worst, cell.regret);
          worst_unseen = std::max(worst_unseen, cell.unseen);
          ++cells;
        }
  std::cout << cells << " cells, at most " << 100 * worst
            << " % slower than an exhaustive search; on masks of another seed " << 100 * worst_unseen << " %\n";
  return cells > 0 && worst <= kMostRegret ? 0 : 1;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  std::string block = "128", model;
  if (!spscope::read_flags(argc, argv, {{"--block", &block}, {"--model", &model}})) {
    std::cerr << "usage: advise_bench [--block TOKENS] [--model NAME]\n";
    return 2;
  }
  return spscope::run_all(block, model);
}
