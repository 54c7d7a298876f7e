// The table of executors, and execute(), which is the same for all of them.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/result.h"
#include "backend/execute/agree.h"
#include "backend/execute/execute.h"
#include "backend/execute/measure.h"

namespace spscope {
namespace {

void keep_highest(std::vector<std::int64_t>& highest, const std::vector<std::int64_t>& now) {
  highest.resize(now.size(), 0);
  for (std::size_t i = 0; i < now.size(); ++i) highest[i] = std::max(highest[i], now[i]);
}

std::string known_pairs() {
  std::string text;
  for (const Executor& row : executors())
    text += fmt::format("{}device = {}, backend = {}", text.empty() ? "" : "; ", row.device, row.backend);
  return text;
}

}  // namespace

#define EXECUTOR(name) Executor executor_##name();
#include "backend/execute/executors.def"
#undef EXECUTOR

std::span<const Executor> executors() {
  static const Executor table[] = {
#define EXECUTOR(name) executor_##name(),
#include "backend/execute/executors.def"
#undef EXECUTOR
  };
  return table;
}

const Executor* find_executor(std::string_view device, std::string_view backend) {
  const std::span<const Executor> rows = executors();
  const auto found =
      std::ranges::find_if(rows, [&](const Executor& row) { return row.device == device && row.backend == backend; });
  return found == rows.end() ? nullptr : &*found;
}

const Executor& row_that_can(std::string_view device, std::string_view done, bool (*can)(const Executor&)) {
  Problem why = {ErrorCode::kCannotExecute, "run.device",
                 fmt::format("compute on the device \"{}\" cannot be {}", device, done),
                 "use run.mode = execute or simulate"};
  for (const Executor& row : executors()) {
    if (row.device != device) continue;
    if (Problem missing = row.unavailable(); !missing.message.empty())
      why = std::move(missing);
    else if (can(row))
      return row;
  }
  throw Error({why});
}

std::vector<Problem> unknown_executor(const ExecuteOptions& options) {
  const Executor* const executor = find_executor(options.device, options.backend);
  if (executor == nullptr)
    return {{ErrorCode::kCannotExecute, "run.backend",
             fmt::format("there is no executor \"{}\" on the device \"{}\"", options.backend, options.device),
             fmt::format("use one of {}", known_pairs())}};
  if (options.comm != "auto" && std::ranges::find(executor->comms, options.comm) == executor->comms.end())
    return {{ErrorCode::kCannotExecute, "run.comm",
             fmt::format("the executor {} has no communicator \"{}\"", executor->backend, options.comm),
             fmt::format("use one of auto, {}", fmt::join(executor->comms.begin(), executor->comms.end(), ", "))}};
  return {};
}

std::vector<Problem> cannot_execute(const Plan& plan, const ExecuteOptions& options) {
  std::vector<Problem> problems = unknown_executor(options);
  if (!problems.empty()) return problems;
  const Executor* const executor = find_executor(options.device, options.backend);
  if (Problem why = executor->unavailable(); !why.message.empty()) return {std::move(why)};
  for (Problem& problem : executor->cannot_run(plan, options)) problems.push_back(std::move(problem));
  return problems;
}

ExecuteResult execute(const Plan& plan, const Request& request, const Activations& activations,
                      const ExecuteOptions& options) {
  std::unique_ptr<Execution> execution;
  const std::optional<Error> failure = failure_of([&] {
    if (std::vector<Problem> problems = cannot_execute(plan, options); !problems.empty())
      throw Error(std::move(problems));
    require_fit(activations, request);
    execution = find_executor(options.device, options.backend)->prepare(plan, request, activations, options);
  });
  if (options.world != nullptr) throw_agreed(*options.world, failure);
  if (failure) throw *failure;
  execution->allocate();
  ExecuteResult result;
  const int total = options.warmup + options.repeats;
  for (int done = 0; done < total; ++done) {
    execution->run(done - options.warmup);
    keep_highest(result.peak_bytes, execution->peak_bytes());
    keep_highest(result.staging_peak_bytes, execution->staging_peak_bytes());
    if (options.on_run) options.on_run(done + 1, total);
  }
  execution->finish(result);
  return result;
}

std::vector<std::vector<std::int64_t>> measure_compute(const Plan& plan, const Request& request,
                                                       const Activations& activations, std::string_view device,
                                                       const MeasureOptions& options) {
  const auto can = [](const Executor& row) { return row.measure != nullptr; };
  const Executor& row = row_that_can(device, "measured", can);
  ExecuteOptions as_executed;
  as_executed.device = row.device;
  as_executed.backend = row.backend;
  as_executed.threads_per_rank = options.threads_per_rank;
  if (std::vector<Problem> problems = row.cannot_run(plan, as_executed); !problems.empty())
    throw Error(std::move(problems));
  return row.measure(plan, request, activations, options);
}

}  // namespace spscope
