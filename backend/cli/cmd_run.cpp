// `spscope run`: loads a job, runs it into a store, and prints the comparison that the store holds.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cstring>
#include <memory>
#include <optional>
#include <ostream>

#include "backend/analysis/comparison.h"
#include "backend/base/number_text.h"
#include "backend/base/result.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/run_command.h"
#include "backend/cli/run_ranks.h"
#include "backend/collect/progress_page.h"
#include "backend/collect/scratch.h"
#include "backend/config/environment.h"
#include "backend/job/run_size.h"
#include "backend/launch/stop_signals.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

int exit_code_of(const Comparison& comparison) {
  bool any = false;
  for (const StrategyResult& s : comparison.strategies) {
    if (s.verify == "failed") return kExitFailed;
    any = any || s.legal;
  }
  return any ? kExitDone : kExitUsage;
}

// What is told of a run that did not come to its end, in the file and to the user.
IncidentRecord incident_of(const Error* error) {
  IncidentRecord incident;
  incident.kind = IncidentKind::kInterrupted;
  incident.message = stop_text();
  if (error != nullptr) {
    incident.kind = error->code() == ErrorCode::kRankHung ? IncidentKind::kHung : IncidentKind::kFailed;
    incident.message = error->what();
  }
  return incident;
}

// Errors that are worth a file even where no event was recorded: which rank failed or hung, and when.
bool tells_of_ranks(const Error& error) {
  return error.code() == ErrorCode::kRankFailed || error.code() == ErrorCode::kRankHung ||
         error.code() == ErrorCode::kStoreWrite;
}

// Runs the job. The outcome, or why it failed when what was recorded may be kept. Throws Error when nothing is.
Result<RunOutcome> run_into(RunOutput& output, RunShards& shards, const Job& job, RunOptions options, bool keeps) {
  bool refused = false;
  options.on_size = room_check(output.note(), refused);
  Result<RunOutcome> outcome = capture([&] { return run_job(job, shards.target(), options); });
  const std::optional<Error> lost = shards.failure();
  const bool stopped = outcome ? outcome->layer_passes_done == 0 && outcome->interrupted() && !(lost && keeps)
                               : !keeps || refused || outcome.error().code() == ErrorCode::kInterrupted;
  if (!stopped) return outcome;
  output.discard();
  if (!outcome) throw outcome.error();
  if (lost) throw *lost;
  throw Error(ErrorCode::kInterrupted, "the run was interrupted before a layer was complete", "nothing was kept");
}

// Whether ranks are processes. What the user says goes first; else a process that was started beside others is a rank.
// Ranks of simulate and project are none: there is nothing to start.
bool runs_processes(const RunFlags& flags, const Job& job) {
  if (job.config.run.mode != RunMode::kExecute) return false;
  if (!flags.launcher.empty()) return flags.launcher == "mpi";
  if (job.places.contains("run.backend")) return job.config.run.backend == "mpi";
  return started_beside_others();
}

// What was asked for where it means nothing; "" when nothing was.
std::string unused_launcher(const RunFlags& flags, const Job& job) {
  const RunMode mode = job.config.run.mode;
  const bool flag = flags.launcher == "mpi";
  if (mode == RunMode::kExecute || !(flag || (flags.launcher.empty() && job.config.run.backend == "mpi"))) return {};
  return fmt::format("{} changes nothing: run.mode = {} starts no ranks", flag ? "--launcher mpi" : "run.backend = mpi",
                     choice_name(mode));
}

// Ranks that are threads of this process, or none.
int run_here(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, const Job& job,
             const std::string& path, const std::string& wanted) {
  const std::atomic<bool>& stop = watch_stop_signals(flags.progress_kind() != "json");
  if (const std::string unused = unused_launcher(flags, job); !unused.empty()) printer.warn(unused);
  const auto on_note = [&printer](const std::string& text) { printer.note(text); };
  RunOutputOptions place{flags.force, job.config.run.scratch, job.cluster.plan_ranks(), on_note, !wanted.empty()};
  RunOutput output(path, place);
  const ProgressPage page(output.note().progress_page());
  return end_of_run(page, printer, [&] {
    RunShards shards(output.note(),
                     shards_options(flags, 0, job.config.run.mode == RunMode::kExecute ? place.ranks : 0));
    RunOptions options;
    options.dump = flags.dump;
    options.interrupt = &stop;
    options.on_progress = [&](const RunProgress& now) {
      page.write(now);
      printer(now);
    };
    options.on_note = on_note;
    options.shards = shards.num_shards();
    Result<RunOutcome> outcome = run_into(output, shards, job, options, !wanted.empty());
    const Result<bool> complete = capture([&] {
      finish_shards(shards, outcome);
      return true;
    });
    if (!complete) output.leave_to_recover(outcome ? complete.error() : outcome.error());
    if (!outcome && !tells_of_ranks(outcome.error()) && !holds_events(output.note())) throw outcome.error();

    const MergeReport report = merge_output(output, false);
    printer.set_out(wanted);
    if (outcome) printer(outcome->progress);
    printer.clear();
    if (!outcome || outcome->layer_passes_done == 0) {  // no result, but the events are kept
      const Error error = outcome ? *shards.failure() : outcome.error();
      throw Error(error.code(), error.what(),
                  fmt::format("{} events up to then are kept in {}", report.events, wanted));
    }
    const int code = print_stored(context, path, wanted);
    print_kept(context, flags, wanted);
    const bool is_told = !context.json && flags.progress_kind() != "json";  // above the table
    if (outcome->interrupted() && !is_told)
      printer.warn(interrupted_text(*outcome) + (wanted.empty() ? "" : " and are kept"));
    if (const std::optional<Error> lost = shards.failure()) throw *lost;
    if (code == kExitUsage)
      page.set_cause("no strategy can run this workload", -1, error_id(ErrorCode::kStrategyIllegal));
    if (!outcome->interrupted()) return code;
    page.set_cause(stop_text(), -1, error_id(ErrorCode::kInterrupted));
    return kExitFailed;
  });
}

int run_with(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer) {
  Job job = load_job(flags.job, context.max_memory_bytes);
  const bool processes = runs_processes(flags, job);
  require_room_for_ranks(job, processes);
  if (processes) job.config.run.backend = "mpi";
  if (processes && started_by_mpi()) return run_as_rank(context, flags, printer, job);
  // Without ranks there is work for one process, however many were started.
  if (job.config.run.mode != RunMode::kExecute && started_beside_others() && !first_of_others()) {
    printer.silence();
    return kExitDone;
  }
  const std::string wanted = flags.output.empty() ? job.config.run.output : flags.output;
  if (!wanted.empty()) check_output(wanted, flags.force);
  std::optional<ScratchFile> scratch;  // when nothing is to be kept
  if (wanted.empty()) scratch.emplace(job.config.run.scratch);
  const std::string path = scratch ? scratch->path() : wanted;
  if (processes) return launch_ranks(context, flags, printer, job, path, wanted);
  return run_here(context, flags, printer, job, path, wanted);
}

int run(CommandContext& context, const RunFlags& flags) {
  if (flags.headless) context.color = context.progress = false;
  ProgressPrinter printer(context, flags.progress_kind());
  if (flags.progress_kind() != "json") return run_with(context, flags, printer);
  if (!flags.collection.empty()) printer.leave_the_end();
  return printer.end(capture([&] { return run_with(context, flags, printer); }));
}

}  // namespace

int end_of_run(const ProgressPage& page, ProgressPrinter& printer, const std::function<int()>& run) {
  Result<int> code = capture(run);
  const std::optional<RunProgress> said = page.read();
  if (!code && (!said || said->cause.empty())) page.set_cause(code.error().what(), -1, error_id(code.error().code()));
  page.set_end(code ? *code : exit_code(code.error()));
  if (const std::optional<RunProgress> last = page.read()) printer.know(*last);
  if (!code) throw code.error();
  return *code;
}

std::string stop_text() {
  const char* name = stop_signal() != 0 ? ::sigabbrev_np(stop_signal()) : nullptr;
  return name != nullptr ? fmt::format("the run was stopped by SIG{}", name) : "the run was stopped";
}

std::string interrupted_text(const RunOutcome& outcome) {
  return fmt::format("interrupted: {} of {} layer passes were complete", count_text(outcome.layer_passes_done),
                     count_text(outcome.layer_passes));
}

RunShardsOptions shards_options(const RunFlags& flags, int first_rank, int ranks) {
  RunShardsOptions options;
  options.first_rank = first_rank;
  options.ranks = ranks;
  options.tool_version = kVersion;
  options.acknowledge = flags.acknowledge;
  // The ranks could go on, but what they do could not be kept: the layers that are complete are.
  options.on_failure = request_stop;
  return options;
}

std::function<void(std::int64_t)> room_check(const CollectingNote& note, bool& refused) {
  return [note, &refused, begun = false](std::int64_t events) mutable {
    refused = !begun;
    require_room_for_events(note, events, begun);
    refused = false;
    begun = true;
  };
}

void tell_end(RunShards& shards, const Result<RunOutcome>& outcome, const std::optional<Error>& lost) {
  if (shards.target().head == nullptr) return;
  if (!outcome)
    shards.add_incident(incident_of(&outcome.error()));
  else if (outcome->interrupted())
    shards.add_incident(incident_of(lost ? &*lost : nullptr));
}

void finish_shards(RunShards& shards, const Result<RunOutcome>& outcome) {
  tell_end(shards, outcome, shards.failure());
  shards.finish();
}

MergeReport merge_output(RunOutput& output, bool tolerant, const std::vector<IncidentRecord>& incidents) {
  MergeOptions merge;
  merge.tolerant = tolerant;
  merge.tool_version = kVersion;
  merge.incidents = incidents;
  return output.merge(merge);
}

int print_stored(CommandContext& context, const std::string& path, const std::string& shown_path) {
  const StoreReader reader(path);
  std::vector<Comparison> comparisons = compare_store(reader);
  for (Comparison& c : comparisons) c.file = shown_path;
  TerminalStyle style;
  style.color = context.color;
  style.width = text_width();
  if (context.json)
    context.out << render_json(comparisons);
  else
    for (const Comparison& c : comparisons) context.out << render_terminal(c, style);
  return exit_code_of(comparisons.front());
}

void print_kept(CommandContext& context, const RunFlags& flags, const std::string& wanted) {
  if (flags.progress_kind() == "json") return;  // the last line says it
  if (!context.json && wanted.empty()) fmt::print(context.err, "\nnothing was kept; -o FILE.db keeps the run\n");
  if (!wanted.empty()) fmt::print(context.err, "kept in {}\n", wanted);
}

Command declare_run() {
  auto flags = std::make_shared<RunFlags>();
  Command command;
  command.flags = job_flags(flags->job);
  const std::vector<Flag> own = {
      {.names = "-o,--output", .help = "keep the run in this file", .target = &flags->output},
      {.names = "--force", .help = "replace the output file when it is a stored run", .target = &flags->force},
      {.names = "--launcher",
       .help = "what ranks are: threads of this process, or processes of MPI",
       .target = &flags->launcher,
       .rule = OneOf{{"threads", "mpi"}}},
      {.names = "--progress",
       .help = "how progress is shown, on stderr",
       .target = &flags->progress,
       .rule = OneOf{{"bar", "json", "none"}}},
      {.names = "--headless",
       .help = "nobody looks on: progress as JSON lines, no colours, nothing drawn",
       .target = &flags->headless},
      {.names = "--dump",
       .help = "write inputs, masks and outputs as .npy files into this folder",
       .target = &flags->dump},
      {.names = "--acknowledge",
       .help = "tell each commit of events to this pipe or file",
       .target = &flags->acknowledge,
       .hidden = true},
      {.names = "--collection",
       .help = "the run in progress that this rank is part of",
       .target = &flags->collection,
       .hidden = true},
  };
  command.flags.insert(command.flags.end(), own.begin(), own.end());
  command.action = [flags](CommandContext& context) { return run(context, *flags); };
  return command;
}

}  // namespace spscope
