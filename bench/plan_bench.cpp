// Time from a request to a verified, scheduled plan for one layer of Wan2.1-14B at 720p: 1182 blocks of 64 tokens, the
// last with 16, 40 heads, density 0.41, on 8 and on 1,024 ranks.
//   build     sets, placements, messages and tile counts, from a fresh request (nothing remembered), with the outputs
//             that verify() expects
//   verify    all rules of the plan
//   schedule  on the network of a800x8 (8 ranks) or ndr-h100 (more), compute by the preset's cost
//   bound, memory  peak bytes by rank: safe for every execution, and along that schedule
// All on one core; times are CPU times of the thread, the median over the repeats. The last lines say what the core can
// do, for comparing machines.
//
//   plan_bench [--pattern paro] [--repeats 5] [--json]
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/config/cluster.h"
#include "backend/mask/pattern.h"
#include "backend/plan/verify.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/strategy.h"
#include "bench/flags.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr int kHeads = 40, kHeadDim = 128, kRanksPerNode = 8;

struct Case {
  std::string_view strategy;
  int ranks, ulysses, ring;  // degrees 0: the strategy has none
};
constexpr Case kCases[] = {{"ulysses", 8, 0, 0}, {"ring", 8, 0, 0}, {"usp", 8, 2, 4}, {"usp", 1024, 8, 128}};

std::string name_of(const Case& c) {
  const std::string degrees = " u" + std::to_string(c.ulysses) + " r" + std::to_string(c.ring);
  return std::string(c.strategy) + (c.ulysses > 0 ? degrees : "");
}

BlockMask wan_mask(std::string_view pattern_name) {
  const Pattern* pattern = find_pattern(pattern_name);
  SPSCOPE_CHECK(pattern != nullptr);
  PatternRequest request;
  request.heads = kHeads;
  request.grid = {21, 45, 80};
  request.density = 0.41;
  request.parameters = Parameters(pattern->parameters());
  return pattern->generate(request);
}

// Bytes of the plan's arrays, without the sets that it shares with the request.
std::int64_t plan_bytes(const Plan& plan) {
  const auto bytes = [](const auto& array) { return static_cast<std::int64_t>(array.size() * sizeof(array[0])); };
  std::int64_t sum = bytes(plan.ops) + bytes(plan.posts) + bytes(plan.values) + bytes(plan.accumulators) +
                     bytes(plan.messages) + bytes(plan.groups) + bytes(plan.dep_refs) + bytes(plan.message_refs) +
                     bytes(plan.value_refs) + bytes(plan.group_refs) + bytes(plan.group_members);
  for (const Value& value : plan.values)
    sum += bytes(value.placement.boxes()) + (plan.ranks + 1) * std::int64_t{sizeof(std::int32_t)};
  return sum;
}

// Milliseconds of one phase, one entry a repeat.
using Samples = std::vector<double>;

template <typename Function>
auto timed(Samples& samples, Function&& function) {
  const std::int64_t begin_ns = thread_cpu_ns();
  auto result = function();
  samples.push_back(static_cast<double>(thread_cpu_ns() - begin_ns) * 1e-6);
  return result;
}

Plan build(const Case& c, Request& request) {
  define_outputs(request);
  const Strategy& strategy = *find_strategy(c.strategy);
  Parameters parameters(strategy.parameters());
  if (c.ulysses > 0) {
    parameters.set("ulysses", std::int64_t{c.ulysses});
    parameters.set("ring", std::int64_t{c.ring});
  }
  return make_plan(strategy, request, parameters);
}

nlohmann::ordered_json run(const Case& c, const BlockMask& mask, int repeats) {
  const ClusterPreset& preset = *find_cluster_preset(c.ranks <= kRanksPerNode ? "a800x8" : "ndr-h100-xN");
  const Network network = Network::of_cluster(preset, c.ranks, kRanksPerNode);
  Samples build_ms, verify_ms, schedule_ms, bound_ms, memory_ms;
  nlohmann::ordered_json result;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Request request = Request::attention(c.ranks, kHeads, kHeadDim, mask);
    const Plan plan = timed(build_ms, [&] { return build(c, request); });
    SPSCOPE_CHECK(timed(verify_ms, [&] { return verify(plan, request); }).empty());
    const Timeline timeline =
        timed(schedule_ms, [&] { return schedule(plan, op_durations(plan, preset.cost), network); });
    const auto bound = timed(bound_ms, [&] { return memory_bound(plan); });
    const auto peak = timed(memory_ms, [&] { return memory(plan, timeline); });
    result = {{"plan", name_of(c)},
              {"ranks", c.ranks},
              {"ops", plan.ops.size()},
              {"messages", plan.messages.size()},
              {"plan_mb", static_cast<double>(plan_bytes(plan)) * 1e-6},
              {"makespan_ms", static_cast<double>(timeline.makespan_ns()) * 1e-6},
              {"bound_mb", static_cast<double>(*std::ranges::max_element(bound)) * 1e-6},
              {"memory_mb", static_cast<double>(*std::ranges::max_element(peak)) * 1e-6}};
  }
  result["build_ms"] = median(build_ms);
  result["verify_ms"] = median(verify_ms);
  result["build_and_verify_ms"] = median(build_ms) + median(verify_ms);
  result["schedule_ms"] = median(schedule_ms);
  result["memory_bound_ms"] = median(bound_ms);
  result["memory_ms"] = median(memory_ms);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result["process_peak_mb"] = static_cast<double>(usage.ru_maxrss) * 1024e-6;
  return result;
}

void print(const nlohmann::ordered_json& results, std::ostream& out) {
  constexpr std::pair<const char*, const char*> kColumns[] = {
      {"ranks", "ranks"},           {"ops", "ops"},
      {"messages", "messages"},     {"plan_mb", "plan MB"},
      {"build_ms", "build ms"},     {"verify_ms", "verify ms"},
      {"schedule_ms", "sched. ms"}, {"memory_bound_ms", "bound ms"},
      {"memory_ms", "memory ms"},   {"bound_mb", "bound MB"},
      {"memory_mb", "memory MB"},   {"process_peak_mb", "RSS MB"}};
  out << std::fixed << std::setprecision(2) << std::left << std::setw(14) << "plan" << std::right;
  for (const auto& [key, title] : kColumns) out << std::setw(11) << title;
  out << "\n";
  for (const auto& result : results["plans"]) {
    out << std::left << std::setw(14) << result["plan"].get<std::string>() << std::right;
    for (const auto& [key, title] : kColumns) {
      out << std::setw(11);
      if (result[key].is_number_float()) {
        out << result[key].get<double>();
      } else {
        out << result[key].get<std::int64_t>();
      }
    }
    out << "\n";
  }
  out << "core: fma peak " << results["fma_gflop_per_s"].get<double>() << " GFLOP/s, copy "
      << results["copy_gbps"].get<double>() << " GB/s; mask " << results["pattern"].get<std::string>() << ", density "
      << results["density"].get<double>() << "\n";
}

nlohmann::ordered_json run_all(std::string_view pattern, int repeats) {
  const BlockMask mask = wan_mask(pattern);
  nlohmann::ordered_json results;
  for (const Case& c : kCases) results["plans"].push_back(run(c, mask, repeats));
  results["pattern"] = pattern;
  results["density"] = mask.density();
  results["repeats"] = repeats;
  results["fma_gflop_per_s"] = kernels::measure_fma_gflop_per_s();
  results["copy_gbps"] = kernels::measure_copy_gbps();
  return results;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  std::string pattern = "paro";
  int repeats = 5;
  bool as_json = false;
  if (!spscope::read_flags(argc, argv,
                           {{"--pattern", &pattern}, {"--repeats", &repeats, 1, 1000}, {"--json", &as_json}}) ||
      spscope::find_pattern(pattern) == nullptr) {
    std::cerr << "usage: plan_bench [--pattern NAME] [--repeats 1..1000] [--json]\n";
    return 2;
  }
  const nlohmann::ordered_json results = spscope::run_all(pattern, repeats);
  if (as_json) {
    std::cout << results.dump(2) << "\n";
  } else {
    spscope::print(results, std::cout);
  }
}
