// `spscope run`: loads a job, runs it into a store, and prints the comparison that the store holds.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>

#include "backend/analysis/comparison.h"
#include "backend/base/result.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/run_job.h"
#include "backend/cli/run_output.h"
#include "backend/cli/run_shards.h"
#include "backend/cli/scratch.h"
#include "backend/cli/stop_signals.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

struct RunFlags {
  JobFlags job;
  std::string output, dump, progress, launcher = "threads";
  bool force = false, headless = false, small = false;
  int acknowledge = -1;
};

int exit_code_of(const Comparison& comparison) {
  bool any = false;
  for (const StrategyResult& s : comparison.strategies) {
    if (s.verify == "failed") return kExitFailed;
    any = any || s.legal;
  }
  return any ? kExitDone : kExitUsage;
}

// The stored run as `compare` would show it.
int print_stored(CommandContext& context, const std::string& path, const std::string& shown_path) {
  const StoreReader reader(path);
  std::vector<Comparison> comparisons = compare_store(reader);
  for (Comparison& c : comparisons) c.file = shown_path;
  TerminalStyle style;
  style.color = context.color;
  if (context.json)
    context.out << render_json(comparisons);
  else
    for (const Comparison& c : comparisons) context.out << render_terminal(c, style);
  return exit_code_of(comparisons.front());
}

// Where the ranks of a process are executed, if any are.
RunShardsOptions shards_options(const Job& job, const RunFlags& flags) {
  RunShardsOptions options;
  if (job.config.run.mode == RunMode::kExecute) options.ranks = job.cluster.plan_ranks();
  options.tool_version = kVersion;
  options.acknowledge = flags.acknowledge;
  // The ranks could go on, but what they do could not be kept: the layers that are complete are.
  options.on_failure = request_stop;
  return options;
}

// What is told of a run that did not come to its end, in the file and to the user.
IncidentRecord incident_of(const Error* error) {
  IncidentRecord incident;
  incident.kind = IncidentKind::kInterrupted;
  const char* name = stop_signal() != 0 ? ::sigabbrev_np(stop_signal()) : nullptr;
  incident.message = name != nullptr ? fmt::format("the run was stopped by SIG{}", name) : "the run was stopped";
  if (error != nullptr) {
    incident.kind = error->code() == ErrorCode::kRankHung ? IncidentKind::kHung : IncidentKind::kFailed;
    incident.message = error->what();
  }
  return incident;
}

// Errors after which what was recorded is worth keeping: a rank that failed or hung, a disk that is full.
bool leaves_events(const Error& error) {
  return error.code() == ErrorCode::kRankFailed || error.code() == ErrorCode::kRankHung ||
         error.code() == ErrorCode::kStoreWrite;
}

// Runs the job. The outcome, or why it failed when what was recorded is to be kept. Throws Error when nothing is.
Result<RunOutcome> run_into(RunShards& shards, const Job& job, const RunOptions& options, bool keeps) {
  Result<RunOutcome> outcome = capture([&] { return run_job(job, shards.target(), options); });
  if (!outcome && !(keeps && leaves_events(outcome.error()))) throw outcome.error();
  const std::optional<Error> lost = shards.failure();
  if (outcome && outcome->layers_done == 0 && outcome->interrupted() && !(lost && keeps)) {
    if (lost) throw *lost;
    throw Error(ErrorCode::kInterrupted, "the run was interrupted before a layer was complete", "nothing was kept");
  }
  return outcome;
}

// Says in the shards how the run ended, and makes them complete.
void finish(RunShards& shards, Result<RunOutcome>& outcome) {
  const std::optional<Error> lost = shards.failure();
  if (!outcome)
    shards.add_incident(incident_of(&outcome.error()));
  else if (outcome->interrupted())
    shards.add_incident(incident_of(lost ? &*lost : nullptr));
  shards.finish();
}

int run(CommandContext& context, const RunFlags& flags) {
  const Job job = load_job(flags.job, context.max_memory_bytes);
  const std::string wanted = flags.output.empty() ? job.config.run.output : flags.output;
  if (!wanted.empty()) check_output(wanted, flags.force);
  std::optional<ScratchFile> scratch;  // when nothing is to be kept
  if (wanted.empty()) scratch.emplace(job.config.run.scratch);
  const std::string path = scratch ? scratch->path() : wanted;
  const std::string progress = !flags.progress.empty() ? flags.progress : flags.headless ? "json" : "bar";
  if (flags.headless) context.color = context.progress = false;

  const std::atomic<bool>& stop = watch_stop_signals(progress != "json");
  ProgressPrinter printer(context, progress);
  const auto on_note = [&printer](const std::string& text) { printer.note(text); };
  RunOutputOptions place{flags.force, job.config.run.scratch, job.cluster.plan_ranks(), on_note};
  RunOutput output(path, place);
  RunShards shards(output.note(), shards_options(job, flags));
  RunOptions options;
  options.dump = flags.dump;
  options.interrupt = &stop;
  options.on_progress = std::ref(printer);
  options.on_note = on_note;
  options.shards = shards.num_shards();
  Result<RunOutcome> outcome = run_into(shards, job, options, !wanted.empty());
  const Result<bool> complete = capture([&] {
    finish(shards, outcome);
    return true;
  });
  if (!complete) output.leave_to_recover(outcome ? complete.error() : outcome.error());

  MergeOptions merge;
  merge.small = flags.small;
  merge.tool_version = kVersion;
  const MergeReport report = output.merge(merge);
  if (outcome) printer(outcome->progress);
  printer.clear();
  if (!outcome || outcome->layers_done == 0) {  // no result, but the events are kept
    const Error error = outcome ? *shards.failure() : outcome.error();
    throw Error(error.code(), error.what(), fmt::format("{} events up to then are kept in {}", report.events, wanted));
  }
  const int code = print_stored(context, path, wanted);
  if (!context.json && wanted.empty()) fmt::print(context.err, "\nnothing was kept; -o FILE.db keeps the run\n");
  if (!wanted.empty() && progress != "json") fmt::print(context.err, "kept in {}\n", wanted);
  if (outcome->interrupted())
    fmt::print(context.err, "interrupted: {} of {} layers were complete{}\n", outcome->layers_done, outcome->layers,
               wanted.empty() ? "" : " and are kept");
  if (const std::optional<Error> lost = shards.failure()) throw *lost;
  return outcome->interrupted() ? kExitFailed : code;
}

}  // namespace

CommandAction declare_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  declare_job_flags(app, flags->job);
  app.add_option("-o,--output", flags->output, "keep the run in this file");
  app.add_flag("--force", flags->force, "replace the output file when it is a stored run");
  app.add_flag("--small", flags->small, "compress the events of the output file: half the bytes, slower to write");
  app.add_option("--launcher", flags->launcher, "what starts the ranks: threads")->check(CLI::IsMember({"threads"}));
  app.add_option("--progress", flags->progress, "bar, json or none, on stderr")
      ->check(CLI::IsMember({"bar", "json", "none"}));
  app.add_flag("--headless", flags->headless, "nobody looks on: progress as JSON lines, no colours, nothing drawn");
  app.add_option("--dump", flags->dump, "write inputs, masks and outputs as .npy files into this folder");
  app.add_option("--acknowledge", flags->acknowledge, "tell each commit of events on this descriptor")->group("");
  return [flags](CommandContext& context) { return run(context, *flags); };
}

}  // namespace spscope
