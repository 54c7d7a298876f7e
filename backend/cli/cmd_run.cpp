// `spscope run`: loads a job, runs it into a store, and prints the comparison that the store holds.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>

#include "backend/analysis/comparison.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/run_job.h"
#include "backend/cli/scratch.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

struct RunFlags {
  JobFlags job;
  std::string output, dump, progress = "bar", launcher = "threads";
  bool force = false;
};

// Set by SIGINT and SIGTERM: ranks stop between kernel calls, and nothing half-written is kept.
std::atomic<bool> interrupted{false};
// Whether the signal is answered on stderr: not between JSON lines.
std::atomic<bool> answered{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  interrupted.store(true);
  constexpr std::string_view kAnswer = "\nstopping...\n";
  if (answered.load() && write(STDERR_FILENO, kAnswer.data(), kAnswer.size()) < 0) return;  // nobody to tell
}

void watch_signals(bool answer) {
  answered = answer;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND;  // a second signal ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

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

int run(CommandContext& context, const RunFlags& flags) {
  const Job job = load_job(flags.job);
  const std::string wanted = flags.output.empty() ? job.config.run.output : flags.output;
  if (!wanted.empty()) check_output(wanted, flags.force);
  std::optional<ScratchFile> scratch;  // when nothing is to be kept
  if (wanted.empty()) scratch.emplace(job.config.run.scratch);
  const std::string path = scratch ? scratch->path() : wanted;

  watch_signals(flags.progress != "json");
  ProgressPrinter printer(context, flags.progress);
  WriteOptions write;
  write.force = flags.force;
  write.tool_version = kVersion;
  StoreWriter writer(path, write);
  RunOptions options;
  options.dump = flags.dump;
  options.interrupt = &interrupted;
  options.on_progress = std::ref(printer);
  options.on_note = [&printer](const std::string& text) { printer.note(text); };
  const RunOutcome outcome = run_job(job, writer, options);
  if (outcome.layers_done == 0)
    throw Error(ErrorCode::kInterrupted, "the run was interrupted before a layer was complete", "nothing was kept");
  writer.finish();
  printer.clear();

  const int code = print_stored(context, path, wanted);
  if (!context.json && wanted.empty()) fmt::print(context.err, "\nnothing was kept; -o FILE.db keeps the run\n");
  if (!wanted.empty() && flags.progress != "json") fmt::print(context.err, "kept in {}\n", wanted);
  if (!outcome.interrupted()) return code;
  fmt::print(context.err, "interrupted: {} of {} layers were complete{}\n", outcome.layers_done, outcome.layers,
             wanted.empty() ? "" : " and are kept");
  return kExitFailed;
}

}  // namespace

CommandAction declare_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  declare_job_flags(app, flags->job);
  app.add_option("-o,--output", flags->output, "keep the run in this file");
  app.add_flag("--force", flags->force, "replace the output file when it is a stored run");
  app.add_option("--launcher", flags->launcher, "what starts the ranks: threads")->check(CLI::IsMember({"threads"}));
  app.add_option("--progress", flags->progress, "bar, json or none, on stderr")
      ->check(CLI::IsMember({"bar", "json", "none"}));
  app.add_option("--dump", flags->dump, "write inputs, masks and outputs as .npy files into this folder");
  return [flags](CommandContext& context) { return run(context, *flags); };
}

}  // namespace spscope
