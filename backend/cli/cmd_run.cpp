// `spscope run`: loads a job, runs it into a store, and prints the comparison that the store holds.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "backend/base/whole_file.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/run_printer.h"
#include "backend/config/environment.h"
#include "backend/execute/execute.h"
#include "backend/job/run_size.h"
#include "backend/launch/launch.h"
#include "backend/launch/stop_signals.h"
#include "backend/study/quiet_run.h"
#include "backend/study/what_if.h"

namespace spscope {
namespace {

struct RunFlags {
  JobFlags job;
  std::string what_if;
  std::string output, dump, progress, launcher;  // launcher "": by run.backend and by how this process was started
  bool force = false, headless = false;
  std::string collection;  // of a rank's process that a launcher started: the note of the run in progress

  std::string progress_kind() const { return !progress.empty() ? progress : headless ? "json" : "bar"; }
};

// What this process does of a run.
enum class RunPart { kAll, kLaunchRanks, kRank, kNothing };

// Whether ranks of this backend are processes; of one that run.device does not have, they are not.
bool are_processes(const Job& job, std::string_view backend) {
  const Executor* const executor = find_executor(job.config.run.device, backend);
  return executor != nullptr && executor->ranks_are_processes;
}

// Whether ranks are processes. --launcher and run.backend take precedence; without them, a process that MPI started
// together with others is a rank. simulate and project start no ranks.
bool runs_processes(const RunFlags& flags, const Job& job) {
  if (job.config.run.mode != RunMode::kExecute) return false;
  if (!flags.launcher.empty()) return are_processes(job, flags.launcher);
  if (job.places.contains("run.backend")) return are_processes(job, job.config.run.backend);
  return started_beside_others();
}

// run.backend as it applies. --launcher overrides it where it says what ranks are; without either, ranks that MPI
// started have the first executor of run.device whose ranks are processes.
std::string backend_of_run(const RunFlags& flags, const Job& job, bool processes) {
  const RunSection& run = job.config.run;
  if (!flags.launcher.empty() && (run.mode == RunMode::kExecute || !are_processes(job, flags.launcher)))
    return flags.launcher;
  if (!processes || are_processes(job, run.backend)) return run.backend;
  for (const Executor& executor : executors())
    if (executor.device == run.device && executor.ranks_are_processes) return std::string(executor.backend);
  return run.backend;
}

RunPart part_of_this_process(const RunFlags& flags, const Job& job) {
  if (runs_processes(flags, job)) return started_by_mpi() ? RunPart::kRank : RunPart::kLaunchRanks;
  // Without ranks there is work for one process, however many were started.
  const bool is_idle = job.config.run.mode != RunMode::kExecute && started_beside_others() && !first_of_others();
  return is_idle ? RunPart::kNothing : RunPart::kAll;
}

// The warning about a launcher that was requested in a mode without ranks; "" when there is none.
std::string unused_launcher(const RunFlags& flags, const Job& job) {
  const RunMode mode = job.config.run.mode;
  const bool flag = !flags.launcher.empty();
  const std::string& backend = flag ? flags.launcher : job.config.run.backend;
  if (mode == RunMode::kExecute || !are_processes(job, backend)) return {};
  return fmt::format("{}{} changes nothing: run.mode = {} starts no ranks",
                     flag ? "--launcher " : "run.backend = ", backend, choice_name(mode));
}

// The arguments of a rank's process: those of this process, and flags that make it a rank. Only the process that owns
// the terminal redraws a progress line.
std::vector<std::string> rank_arguments(const RunFlags& flags, const Job& job, const std::string& note, bool draws) {
  std::vector<std::string> arguments = {"run", "--launcher", job.config.run.backend, "--max-memory",
                                        std::to_string(job.max_memory_bytes)};
  if (!flags.job.config.empty()) arguments.push_back(flags.job.config);
  for (const std::string& strategy : flags.job.strategies) arguments.insert(arguments.end(), {"-s", strategy});
  for (const std::string& setting : flags.job.settings) arguments.insert(arguments.end(), {"--set", setting});
  if (!flags.dump.empty()) arguments.insert(arguments.end(), {"--dump", flags.dump});
  arguments.insert(arguments.end(), {"--progress", draws ? "none" : flags.progress_kind(), "--collection", note});
  return arguments;
}

// A run, from its config to the comparison that it prints. Each line is a step that can end it with an Error.
int run_with(CommandContext& context, const RunFlags& flags, RunPrinter& printer) {
  // The config with every name looked up and every default filled in. All problems are reported together.
  Job job = load_job(flags.job, context.max_memory_bytes);

  // Who executes the ranks, and whether this machine can.
  const RunPart part = part_of_this_process(flags, job);
  std::optional<WhatIf> what_if;
  std::optional<Job> other;
  if (!flags.what_if.empty()) {
    what_if = parse_what_if(flags.what_if);
    other = supposed(job, *what_if);
  }
  const bool processes = part == RunPart::kLaunchRanks || part == RunPart::kRank;
  require_room_for_ranks(job, processes);
  job.config.run.backend = backend_of_run(flags, job, processes);
  if (job.config.run.mode == RunMode::kExecute) require_executor(job);
  if (part == RunPart::kNothing) {
    printer.silence();
    return kExitDone;
  }
  const std::string wanted = flags.output.empty() ? job.config.run.output : flags.output;
  const RunSetup setup{job, wanted, flags.force, flags.dump, std::string(kVersion)};
  // A rank takes the remaining steps together with the others (launch/rank_main.cpp).
  if (part == RunPart::kRank) return rank_main(setup, flags.collection, printer);
  require_mode_for_long_compute(job);
  if (!flags.dump.empty()) require_folder(flags.dump, "--dump");

  // From here on a signal stops the run, and what is complete by then is kept.
  const std::atomic<bool>& stop = watch_stop_signals(flags.progress_kind() != "json");
  if (const std::string unused = unused_launcher(flags, job); !unused.empty()) printer.warn(unused);

  // Locks OUT and creates the collection, whose shards survive a crash of this process.
  RunOutput output(wanted,
                   {flags.force, job.config.run.scratch, job.run_ranks(),
                    [&](const std::string& text) { printer.note(text); }, job.config.run.mode == RunMode::kExecute});
  const ProgressPage page(output.note().progress_page());
  if (what_if) printer.hold_result();
  const int code = publish_end(page, printer, [&] {
    // Every strategy in every layer of every denoise step: masks, plan, times, into the shards.
    const std::string note = collecting_path(output.note().out);
    const RunEnd end = part == RunPart::kLaunchRanks
                           ? launch_ranks(setup, rank_arguments(flags, job, note, printer.draws()), printer.draws(),
                                          output, page, stop, printer)
                           : run_in_process(setup, output, page, stop, printer);

    // The shards become OUT, and what OUT holds is printed.
    return merge_and_report(output, setup, end, page, printer);
  });
  if (what_if && code == kExitDone)
    printer.show_beside(comparison_of(*other, {std::string(kVersion), stop, {}, {}}), *what_if);
  return code;
}

int run(CommandContext& context, const RunFlags& flags) {
  if (flags.headless) context.color = context.progress = false;
  RunPrinter printer(context, flags.progress_kind());
  if (flags.progress_kind() != "json") return run_with(context, flags, printer);
  if (!flags.collection.empty()) printer.leave_the_end();
  return printer.end(capture([&] { return run_with(context, flags, printer); }));
}

// What --launcher takes: the backends of all executors.
std::vector<std::string> launchers() {
  std::vector<std::string> names;
  for (const Executor& executor : executors())
    if (std::ranges::find(names, executor.backend) == names.end()) names.emplace_back(executor.backend);
  return names;
}

}  // namespace

Command declare_run() {
  auto flags = std::make_shared<RunFlags>();
  Command command;
  command.flags = job_flags(flags->job);
  const std::vector<Flag> own = {
      {.names = "-o,--output", .help = "keep the run in this file", .target = &flags->output},
      {.names = "--force", .help = "replace the output file when it is a stored run", .target = &flags->force},
      {.names = "--what-if",
       .help = "NAME=NUMBER,...: the same on other hardware or at another density, beside it; simulate only",
       .target = &flags->what_if},
      {.names = "--launcher",
       .help = "what ranks are: threads of this process, or processes of MPI",
       .target = &flags->launcher,
       .rule = OneOf{launchers()}},
      {.names = "--progress",
       .help = "how progress is shown, on stderr",
       .target = &flags->progress,
       .rule = OneOf{{"bar", "json", "none"}}},
      {.names = "--headless",
       .help = "for batch jobs: progress as JSON lines, no colours, no drawing",
       .target = &flags->headless},
      {.names = "--dump",
       .help = "write inputs, masks and outputs as .npy files into this folder",
       .target = &flags->dump},
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
