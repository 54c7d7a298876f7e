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
//   plan_bench
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
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
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr int kHeads = 40, kHeadDim = 128, kRanksPerNode = 8, kRepeats = 5;

struct Case {
  std::string_view strategy;
  int ranks, ulysses, ring;  // degrees 0: the strategy has none, or chooses them
};
constexpr Case kCases[] = {{"ulysses", 8, 0, 0}, {"ring", 8, 0, 0},   {"usp", 8, 2, 4},    {"usp", 1024, 8, 128},
                           {"dbsp", 8, 8, 1},    {"dbsp", 8, 4, 2},   {"dbsp", 8, 2, 4},   {"dbsp", 8, 1, 8},
                           {"dbsp", 8, 0, 0},    {"cyclic", 8, 8, 1}, {"cyclic", 8, 4, 2}, {"cyclic", 8, 2, 4},
                           {"cyclic", 8, 1, 8}};

std::string name_of(const Case& c) {
  const std::string degrees = " u" + std::to_string(c.ulysses) + " r" + std::to_string(c.ring);
  return std::string(c.strategy) + (c.ulysses > 0 ? degrees : "");
}

BlockMask wan_mask() {
  const Pattern* pattern = find_pattern("paro");
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
  if (c.ulysses > 0 && parameters.has("ulysses")) parameters.set("ulysses", std::int64_t{c.ulysses});
  if (c.ulysses > 0 && parameters.has("ring")) parameters.set("ring", std::int64_t{c.ring});
  return make_plan(strategy, request, parameters);
}

constexpr const char* kColumns[] = {"ranks",     "ops",      "messages",  "plan MB",  "build ms",  "verify ms",
                                    "sched. ms", "bound ms", "memory ms", "bound MB", "memory MB", "RSS MB"};

// Measures a plan and prints its row of the columns.
void run(const Case& c, const BlockMask& mask, std::ostream& out) {
  const ClusterPreset& preset = *find_cluster_preset(c.ranks <= kRanksPerNode ? "a800x8" : "ndr-h100-xN");
  const Network network = Network::of_cluster(preset, c.ranks, kRanksPerNode);
  Samples build_ms, verify_ms, schedule_ms, bound_ms, memory_ms;
  std::size_t ops = 0, messages = 0;
  double plan_mb = 0, bound_mb = 0, memory_mb = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    Request request = Request::attention(c.ranks, kHeads, kHeadDim, mask);
    request.cluster = &preset;
    const Plan plan = timed(build_ms, [&] { return build(c, request); });
    SPSCOPE_CHECK(timed(verify_ms, [&] { return verify(plan, request); }).empty());
    const Timeline timeline =
        timed(schedule_ms, [&] { return schedule(plan, op_durations(plan, preset.cost), network); });
    const auto bound = timed(bound_ms, [&] { return memory_bound(plan); });
    const auto peak = timed(memory_ms, [&] { return memory(plan, timeline); });
    ops = plan.ops.size(), messages = plan.messages.size();
    plan_mb = static_cast<double>(plan_bytes(plan)) * 1e-6;
    bound_mb = static_cast<double>(*std::ranges::max_element(bound)) * 1e-6;
    memory_mb = static_cast<double>(*std::ranges::max_element(peak)) * 1e-6;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out << std::left << std::setw(14) << name_of(c) << std::right << std::setw(11) << c.ranks << std::setw(11) << ops
      << std::setw(11) << messages;
  for (const double figure : {plan_mb, median(build_ms), median(verify_ms), median(schedule_ms), median(bound_ms),
                              median(memory_ms), bound_mb, memory_mb, static_cast<double>(usage.ru_maxrss) * 1024e-6})
    out << std::setw(11) << figure;
  out << "\n";
}

void run_all(std::ostream& out) {
  const BlockMask mask = wan_mask();
  out << std::fixed << std::setprecision(2) << std::left << std::setw(14) << "plan" << std::right;
  for (const char* title : kColumns) out << std::setw(11) << title;
  out << "\n";
  for (const Case& c : kCases) run(c, mask, out);
  out << "core: fma peak " << kernels::measure_fma_gflop_per_s() << " GFLOP/s, copy " << kernels::measure_copy_gbps()
      << " GB/s; density " << mask.density() << "\n";
}

}  // namespace
}  // namespace spscope

int main() { spscope::run_all(std::cout); }
