// How well `project` predicts `execute` on this machine, for two ranks: the compute of each plan is measured under load
// (the other core runs the same op), the network is what calibration finds between two threads in the same run, and
// the scheduled makespan is compared with the one that executing the plan takes.
//
// Projections and executions of all strategies take turns, and both are medians over the rounds, so that a clock or a
// neighbour that changes meanwhile meets all of them.
//
//   projection_bench [--rounds 9]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/base/median.h"
#include "backend/execute/calibrate/calibrate.h"
#include "backend/execute/cpu/measure.h"
#include "backend/execute/execute.h"
#include "backend/mask/pattern.h"
#include "backend/schedule/network.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/strategy.h"
#include "bench/flags.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr int kRanks = 2;
constexpr int kBlock = 64;
constexpr int kFrames = 4, kFrameSide = 32, kHeads = 8, kHeadDim = 64;  // 1,024 tokens a frame
constexpr double kDensity = 0.4;
constexpr double kTargetError = 0.15;

struct Contender {
  std::string label;
  Plan plan;
  std::vector<std::vector<double>> op_ns;  // by op, of each round
  std::vector<double> executed_ns;         // of each round
};

BlockMask paro_mask() {
  const Pattern& paro = *find_pattern("paro");
  PatternRequest request;
  request.heads = kHeads;
  request.grid = {kFrames, kFrameSide, kFrameSide};
  request.block = kBlock;
  request.density = kDensity;
  request.parameters = Parameters(paro.parameters());
  return paro.generate(request);
}

Contender make_contender(const Request& request, std::string_view name, const char* order) {
  const Strategy& strategy = *find_strategy(name);
  Parameters parameters(strategy.parameters());
  if (order != nullptr) parameters.set("order", std::string(order));
  const Decision decision = strategy.decide(request, parameters);
  Contender contender{strategy_label(strategy, std::array{Degrees{decision.ulysses, decision.ring}}, parameters),
                      make_plan(strategy, request, parameters),
                      {},
                      {}};
  contender.op_ns.resize(contender.plan.ops.size());
  return contender;
}

void run_round(const Request& request, const Activations& activations, Contender& contender) {
  MeasureOptions loaded;
  loaded.repeats = 1;
  loaded.load = MeasureLoad::kLoaded;
  const std::vector<std::int64_t> op_ns = measure(contender.plan, request, activations, loaded);
  for (std::size_t op = 0; op < op_ns.size(); ++op) contender.op_ns[op].push_back(static_cast<double>(op_ns[op]));
  ExecuteOptions once;
  once.warmup = 1;
  const ExecuteResult run = execute(contender.plan, request, activations, once);
  contender.executed_ns.push_back(static_cast<double>(run.makespan_ns.front()));
}

double projected_ns(const Contender& contender, const Network& network) {
  std::vector<std::int64_t> op_ns;
  for (const std::vector<double>& rounds : contender.op_ns) op_ns.push_back(std::llround(median(rounds)));
  return static_cast<double>(schedule(contender.plan, op_ns, network).makespan_ns());
}

// Measures and prints.
void run(int rounds, std::ostream& out) {
  const NetworkCalibration local = calibrate_network({});
  const Network network = Network::from_profile(local.network, kRanks, 0);

  Request request = Request::attention(kRanks, kHeads, kHeadDim, paro_mask(), Dtype::kFp32);
  define_outputs(request);
  const Activations activations = generate_activations(request, 1);
  std::vector<Contender> contenders;
  contenders.push_back(make_contender(request, "ulysses", nullptr));
  contenders.push_back(make_contender(request, "ring", "contiguous"));
  contenders.push_back(make_contender(request, "ring", "cyclic"));
  for (int round = 0; round < rounds; ++round)
    for (Contender& contender : contenders) run_round(request, activations, contender);

  const auto number = [](double value, int digits) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << value;
    return text.str();
  };
  const auto row = [&](const char* name) -> std::ostream& { return out << std::left << std::setw(34) << name; };
  row("instruction set, cores") << kernels::dispatched_target() << ", " << std::thread::hardware_concurrency() << "\n";
  row("fma peak, GFLOP/s") << number(kernels::measure_fma_gflop_per_s(), 1) << "\n";
  row("copy, GB/s") << number(kernels::measure_copy_gbps(), 1) << "\n";
  row("workload") << request.inner_tokens << " tokens, " << kHeads << " heads of " << kHeadDim << ", paro "
                  << number(request.executed_mask().mask().density(), 2) << ", " << rounds << " rounds\n";
  row("link, GB/s") << number(local.network.link_gbps, 2) << "\n";
  row("latency, us") << number(local.network.intra_latency_ns * 1e-3, 1) << "\n";
  row("slow-down of compute") << number(local.network.compute_slowdown, 2) << "\n";
  row("link fit, largest residual, %") << number(local.link.max_relative_residual * 100, 0) << "\n\n";
  const auto line = [&](std::string_view label, const auto&... cells) {
    out << std::left << std::setw(20) << label << std::right;
    for (const std::string_view cell : {std::string_view(cells)...}) out << std::setw(17) << cell;
    out << "\n";
  };
  line("strategy", "projected ms", "executed ms", "fastest..slowest", "error");
  std::vector<double> errors;
  for (const Contender& contender : contenders) {
    const double projected = projected_ns(contender, network), executed = median(contender.executed_ns);
    const auto [fastest, slowest] = std::ranges::minmax(contender.executed_ns);
    errors.push_back(std::abs(projected / executed - 1));
    line(contender.label, number(projected * 1e-6, 2), number(executed * 1e-6, 2),
         number(fastest * 1e-6, 1) + ".." + number(slowest * 1e-6, 1),
         number(100 * (projected / executed - 1), 1) + "%");
  }
  out << "\nmedian error " << number(100 * median(errors), 1) << " %, target at most " << number(100 * kTargetError, 0)
      << " %\n";
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  int rounds = 9;
  if (!spscope::read_flags(argc, argv, {{"--rounds", &rounds}})) return 2;
  spscope::run(rounds, std::cout);
}
