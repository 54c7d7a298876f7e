#include "backend/cli/run_ranks.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <optional>
#include <ostream>

#include "backend/analysis/comparison.h"
#include "backend/base/clock.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/rank_run.h"
#include "backend/collect/progress_page.h"
#include "backend/collect/scratch.h"
#include "backend/config/environment.h"
#include "backend/execute/agree.h"
#include "backend/execute/rank_world.h"
#include "backend/launch/host_folders.h"
#include "backend/launch/mpi_launch.h"
#include "backend/launch/rank_watch.h"
#include "backend/launch/stop_signals.h"

namespace spscope {
namespace {

constexpr double kDrawAfterSeconds = 2;

// The arguments of a rank's process: those of this one, and that it is a rank, however many there are.
std::vector<std::string> rank_arguments(const RunFlags& flags, const Job& job, const std::string& note,
                                        const std::string& progress) {
  std::vector<std::string> arguments = {"run", "--launcher", "mpi", "--max-memory",
                                        std::to_string(job.max_memory_bytes)};
  if (!flags.job.config.empty()) arguments.push_back(flags.job.config);
  for (const std::string& strategy : flags.job.strategies) arguments.insert(arguments.end(), {"-s", strategy});
  for (const std::string& setting : flags.job.settings) arguments.insert(arguments.end(), {"--set", setting});
  if (!flags.dump.empty()) arguments.insert(arguments.end(), {"--dump", flags.dump});
  if (!flags.acknowledge.empty()) arguments.insert(arguments.end(), {"--acknowledge", flags.acknowledge});
  arguments.insert(arguments.end(), {"--progress", progress, "--collection", note});
  return arguments;
}

// Why a run ended that no rank reports: one was killed, is stopped, or all are stuck.
Error death_of(const RankWatch& watch, const LaunchEnd& end, const std::string& kept) {
  if (!watch.cause()) return {ErrorCode::kRankFailed, "a rank was ended by " + signal_text(end.signal), kept};
  const RankTrouble trouble = watch.cause()->trouble;
  const bool stuck = trouble == RankTrouble::kStopped || trouble == RankTrouble::kHung;
  return {stuck ? ErrorCode::kRankHung : ErrorCode::kRankFailed, watch.cause()->message, kept};
}

// Whether the exit code is one of this program: a rank has said why.
bool is_told(const LaunchEnd& end) { return end.exit_code <= kExitUsage; }

// One look of the launcher: what rank 0 says is drawn, and the first rank that is gone is told to those who look on.
// False: the ranks have to be ended.
bool look_at_ranks(RankWatch& watch, const ProgressPage& page, ProgressPrinter& printer) {
  const bool was_lost = watch.lost().has_value(), goes_on = watch.look();
  if (watch.lost() && !was_lost) page.set_cause(watch.lost()->message, watch.lost()->rank);
  if (!printer.draws()) return goes_on;
  // What rank 0 has to say comes while the first plan is made, and on the same terminal.
  const std::optional<RunProgress> now = page.read();
  if (now && (now->elapsed_s > kDrawAfterSeconds || now->phase == "run")) printer(moved_on(*now, now_ns()));
  return goes_on;
}

// Merges what the ranks wrote, and says how they ended. `wanted`: what the user named.
int keep_launched(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, RunOutput& output,
                  const std::string& wanted, const RankWatch& watch, const LaunchEnd& end, bool was_stopped) {
  const bool died = end.signal != 0 || watch.cause();  // else all of them ended by themselves
  if (output.note().shards().empty()) {                // they said why
    if (died) throw death_of(watch, end, "nothing was kept");
    if (is_told(end)) return end.exit_code;
    throw Error(ErrorCode::kRankFailed, fmt::format("mpirun ended with exit code {}", end.exit_code),
                "see what it said; nothing was kept");
  }
  if (!died && end.exit_code == kExitUsage && !holds_events(output.note())) {  // nothing ran; they said why
    output.discard();
    return end.exit_code;
  }
  const auto merged = capture([&] { return merge_output(output, end.exit_code != 0 || died, watch.incidents()); });
  if (!merged) {
    if (died && !was_stopped) printer.warn(render(death_of(watch, end, "")));
    throw merged.error();
  }
  const MergeReport report = *merged;
  printer.set_out(wanted);
  const std::string kept =
      wanted.empty() ? "nothing was kept" : fmt::format("{} events up to then are kept in {}", report.events, wanted);
  if (died && !was_stopped) throw death_of(watch, end, kept);
  if (end.exit_code != 0) {
    printer.warn(is_told(end) ? kept : fmt::format("mpirun ended with exit code {}; {}", end.exit_code, kept));
    return kExitFailed;
  }
  const int code = print_stored(context, output.note().out, wanted);
  print_kept(context, flags, wanted);
  return code;
}

// One process for each rank of the job. Throws Error(kLaunch).
void require_all_ranks(const RankWorld& world, const Job& job) {
  const int ranks = job.cluster.plan_ranks();
  if (world.size() == ranks) return;
  throw Error(ErrorCode::kLaunch,
              fmt::format("{} processes were started, and the run has {} ranks", world.size(), ranks),
              fmt::format("mpirun -n {} spscope run ..., or spscope run --launcher mpi", ranks));
}

}  // namespace

int launch_ranks(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, const Job& job,
                 const std::string& path, const std::string& wanted) {
  require_mpirun();
  const std::atomic<bool>& stop = watch_stop_signals(flags.progress_kind() != "json");
  const auto on_note = [&](const std::string& text) { printer.note(text); };
  RunOutput output(path, {flags.force, job.config.run.scratch, job.cluster.plan_ranks(), on_note, !wanted.empty()});
  const ProgressPage page(output.note().progress_page());
  MpiLaunch launch;
  launch.program = path_of_this_program();
  // A line that is drawn over itself is for the process that has the terminal.
  launch.arguments =
      rank_arguments(flags, job, collecting_path(output.note().out), printer.draws() ? "none" : flags.progress_kind());
  launch.ranks = job.cluster.plan_ranks();
  launch.root = geteuid() == 0;
  launch.others_work = [&] { return !output.places_elsewhere().empty(); };
  RankWatch watch(output.note(), patience_seconds(), [&](const std::string& text) { printer.warn(text); });
  return end_of_run(page, printer, [&] {
    LaunchEnd end = run_ranks(launch, stop, [&] { return look_at_ranks(watch, page, printer); });
    if (end.mpirun_hung) {
      printer.warn("mpirun did not end after its ranks, and was killed");
      end.exit_code = watch.ended_well() ? kExitDone : kExitFailed;
    }
    watch.ended(end);
    if (watch.cause()) page.set_cause(watch.cause()->message, watch.cause()->rank);
    printer.clear();
    return keep_launched(context, flags, printer, output, wanted, watch, end, stop.load());
  });
}

int run_as_rank(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, const Job& job) {
  const std::atomic<bool>& stop = watch_stop_signals(false);
  if (!flags.collection.empty()) take_stops_of_launcher();
  WorldOptions world_options;
  world_options.ranks_per_node = pretended_ranks_per_node();
  world_options.last_line = [&printer](const std::string& text) { return printer.line_of_warning(text); };
  const std::unique_ptr<RankWorld> world = start_mpi_world(world_options);
  const bool first = world->rank() == 0;
  if (!first) printer.silence();

  // By hand, rank 0 makes the collection and the file.
  const std::string wanted = flags.output.empty() ? job.config.run.output : flags.output;
  std::optional<ScratchFile> scratch;
  std::optional<RunOutput> output;
  const auto placed = capture([&] {
    require_all_ranks(*world, job);
    if (!first || !flags.collection.empty()) return true;
    if (!wanted.empty()) check_output(wanted, flags.force);
    if (wanted.empty()) scratch.emplace(job.config.run.scratch);
    output.emplace(scratch ? scratch->path() : wanted,
                   RunOutputOptions{flags.force, job.config.run.scratch, world->size(), {}, !wanted.empty()});
    return true;
  });
  if (const auto error = world->agree(placed ? std::nullopt : std::optional(placed.error()))) {
    if (first) throw *error;
    return kExitDone;
  }
  std::optional<HostFolders> folders;
  const std::optional<Error> unplaced = failure_of([&] {
    CollectingNote home;
    throw_agreed(*world, failure_of([&] {
      if (first) home = output ? output->note() : read_collecting(flags.collection);
    }));
    folders.emplace(*world, home, job.config.run.scratch);
  });
  if (unplaced) {  // all of them know
    if (first) throw *unplaced;
    return kExitDone;
  }

  std::optional<ProgressPage> page;
  if (first) page.emplace(folders->note().progress_page());
  RunOptions options;
  options.interrupt = &stop;
  options.world = world.get();
  if (first) options.dump = flags.dump;
  if (first)
    options.on_progress = [&](const RunProgress& now) {
      page->write(now);
      printer(now);
    };
  if (first) options.on_note = [&printer](const std::string& text) { printer.note(text); };
  options.shards = world->size() + 1;
  RankEnd end = run_rank(*world, flags, job, *folders, options);
  printer.clear();
  const auto keep = [&] {
    const std::optional<Error> unmerged = keep_run(*world, printer, flags, *folders, output ? &*output : nullptr, end);
    if (!first) return kExitDone;
    if (wanted.empty()) printer.set_out("");
    if (unmerged) throw *unmerged;
    if (!end.outcome) throw end.outcome.error();
    const RunOutcome done = *end.outcome;
    if (done.interrupted()) printer.warn(interrupted_text(done));
    int code = kExitDone;
    if (output && done.layer_passes_done > 0) {
      code = print_stored(context, scratch ? scratch->path() : wanted, wanted);
      print_kept(context, flags, wanted);
    }
    if (end.lost) throw *end.lost;
    return done.interrupted() ? kExitFailed : code;
  };
  if (page && !end.outcome)
    page->set_cause(end.outcome.error().what(), -1, error_id(end.outcome.error().code()));
  else if (page && end.outcome->interrupted())
    page->set_cause(end.lost ? end.lost->what() : stop_text(), -1,
                    error_id(end.lost ? end.lost->code() : ErrorCode::kInterrupted));
  return page && output ? end_of_run(*page, printer, keep) : keep();
}

}  // namespace spscope
