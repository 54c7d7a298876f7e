// The self-attention of a Wan2.1-1.3B layer of 32,760 tokens: its error beside that of PyTorch on the same input, what
// `project` says of one rank beside what `execute` takes, and how long the GPU idles in a run of several ops.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "backend/base/median.h"
#include "backend/execute/execute.h"
#include "backend/execute/measure.h"
#include "backend/execute/reference/reference.h"
#include "backend/schedule/schedule.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/command.h"
#include "bench/gpu/workload.h"
#include "tests/support/temporary_folder.h"

namespace spscope::gpu_check {
namespace {

constexpr double kErrorOfPyTorch = 2, kProjectError = 0.05, kIdleShare = 0.02;

ExecuteOptions on_gpu(int warmup, int repeats) {
  ExecuteOptions options;
  options.device = "cuda";
  options.warmup = warmup;
  options.repeats = repeats;
  return options;
}

// A file in bf16, [heads, tokens, head_dim].
void write_array(const TemporaryFolder& folder, const char* name, const std::vector<float>& values) {
  std::vector<Bf16> stored;
  for (const float value : values) stored.push_back(to_bf16(value));
  folder.write(name, {reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(Bf16)});
}

// What layer_error.py found.
void add_comparison(const CheckContext& context, const Request& request, const std::string& folder,
                    CheckResult& result) {
  const std::string answer_file = context.out + "/layer_error.json", error_file = context.out + "/layer_error.txt";
  const CommandEnd end =
      run_command({context.python, context.scripts + "/layer_error.py", folder, std::to_string(request.heads),
                   std::to_string(request.inner_tokens), std::to_string(request.head_dim)},
                  {.output = answer_file, .error = error_file});
  const std::optional<Json> answer = Json::parse(text_of(answer_file));
  if (!end.found) {
    result.skipped = "no comparison with PyTorch: there is no " + context.python;
  } else if (end.exit_code != 0 || !answer) {
    result.faults.push_back("layer_error.py failed: " + tail_of(error_file));
  } else if (answer->contains("missing")) {
    result.skipped = "no comparison with PyTorch: " + (*answer)["missing"].text();
  } else {
    const double ours = (*answer)["ours_rms"].number(), theirs = (*answer)["torch_rms"].number();
    result.facts["peer"] = (*answer)["versions"].text();
    result.figures.push_back({"error over PyTorch's", "", ours / theirs, Bound::kAtMost, kErrorOfPyTorch});
    result.figures.push_back({"relative rms error", "", ours});
    result.figures.push_back({"relative rms error of PyTorch", "", theirs});
    result.figures.push_back(
        {"largest error over PyTorch's", "", (*answer)["ours_largest"].number() / (*answer)["torch_largest"].number()});
  }
}

// By OpId, each rank alone.
std::vector<std::int64_t> alone_ns(const Plan& plan, const Request& request, const Activations& activations) {
  MeasureOptions options;
  options.warmup = 2;
  const auto ns = measure_compute(plan, request, activations, "cuda", options);
  std::vector<std::int64_t> of_op;
  for (std::size_t op = 0; op < plan.ops.size(); ++op) {
    std::vector<std::int64_t> repeats;
    for (const std::vector<std::int64_t>& repeat : ns) repeats.push_back(repeat[op]);
    of_op.push_back(median(std::move(repeats)));
  }
  return of_op;
}

double projected_ns(const Plan& plan, const Request& request, const Activations& activations) {
  return static_cast<double>(
      schedule(plan, alone_ns(plan, request, activations), Network::instant(plan.ranks)).makespan_ns());
}

// The share of a run in which the GPU computes nothing, from what its ops take alone: their events in a run cannot
// tell, as an op begins by them once the one before it has ended.
void add_idle(const Request& request, const Activations& activations, int rounds, CheckResult& result) {
  const Plan plan = plan_in_parts(request);
  const auto idle_share = [&](std::int64_t busy_ns, const ExecuteOptions& options) {
    const ExecuteResult run = execute(plan, request, activations, options);
    return std::max(0.0, 1 - static_cast<double>(busy_ns) / static_cast<double>(median(run.makespan_ns)));
  };
  std::vector<double> shares;
  std::int64_t busy_ns = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::int64_t> ns = alone_ns(plan, request, activations);
    busy_ns = std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
    shares.push_back(idle_share(busy_ns, on_gpu(2, 3)));
  }
  // The figure has to see a host that enqueues each op late.
  ExecuteOptions late = on_gpu(0, 1);
  late.before_op = [&](OpId, const auto&) { std::this_thread::sleep_for(std::chrono::nanoseconds(busy_ns)); };
  const double with_late_host = idle_share(busy_ns, late);
  if (with_late_host < 0.5)
    result.faults.push_back(fmt::format("a host that is late is not seen: the idle share is {:.3g}", with_late_host));
  result.figures.push_back(
      {fmt::format("idle, {} ops", plan.ops.size()), "", median(std::move(shares)), Bound::kAtMost, kIdleShare});
  result.figures.push_back({"idle with a late host", "", with_late_host});
}

}  // namespace

CheckResult check_layer_error(const CheckContext& context) {
  const Request request = wan_request(1, context.tiny);
  const Activations activations = generate_activations(request, 1);
  const ExecuteResult run = execute(default_plan("single", request), request, activations, on_gpu(0, 1));
  const Reference reference(request, activations, VerifyExtent::kSample, 1);
  const Verification verification = reference.check(run.outputs);
  CheckResult result;
  result.facts["workload"] =
      fmt::format("{} tokens, {} heads of {}, bf16", request.inner_tokens, request.heads, request.head_dim);
  if (verification.verdict != Verdict::kPassed)
    result.faults.push_back(fmt::format("a row differs from the reference by {:.3g}", verification.max_error));
  result.figures = {{"largest error of a sampled row, squared", "", verification.max_error}};
  const TemporaryFolder arrays;
  const AttentionInput& input = activations.attentions.front();
  write_array(arrays, "q.bf16", input.q);
  write_array(arrays, "k.bf16", input.k);
  write_array(arrays, "v.bf16", input.v);
  write_array(arrays, "o.bf16", run.outputs.front().values);
  add_comparison(context, request, arrays.path(), result);
  return result;
}

CheckResult check_layer_project(const CheckContext& context) {
  const Request request = wan_request(1, context.tiny);
  const Activations activations = generate_activations(request, 1);
  const Plan plan = default_plan("single", request);
  const int rounds = context.rounds_of(5);
  std::vector<double> projected, executed, ratios, posts_ns;
  for (int round = 0; round < rounds; ++round) {
    projected.push_back(projected_ns(plan, request, activations));
    const ExecuteResult run = execute(plan, request, activations, on_gpu(2, 3));
    executed.push_back(static_cast<double>(median(run.makespan_ns)));
    ratios.push_back(projected.back() / executed.back());
    posts_ns.push_back(static_cast<double>(run.host_post_ns.front()));
  }
  CheckResult result;
  result.figures = {
      {"project against execute of one rank", "", std::abs(median(ratios) - 1), Bound::kAtMost, kProjectError},
      {"projected", "ms", median(projected) * 1e-6},
      {"executed", "ms", median(executed) * 1e-6},
      {"the host, for one post", "us", median(posts_ns) * 1e-3},
  };
  add_idle(request, activations, rounds, result);
  return result;
}

}  // namespace spscope::gpu_check
