// `spscope sweep`: a run for each combination of values of config keys, over several seeds, as one table.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/whole_file.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/replaceable.h"
#include "backend/launch/stop_signals.h"
#include "backend/study/sweep.h"

namespace spscope {
namespace {

struct SweepFlags {
  JobFlags job;
  std::vector<std::string> over;
  std::string output, figures;
  int seeds = 1;
  bool force = false;
};

std::string place_of(const SweepCell& cell, std::span<const SweepAxis> axes) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axes[i].key, cell.values[i]);
  return text;
}

std::string cells_text(std::size_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }

void write_figures(const SweepFlags& flags, const SweepTable& table, std::span<const SweepAxis> axes,
                   std::span<const SweepCell> cells) {
  if (flags.figures.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(flags.figures, error);
  for (const auto& [name, svg] : table.figures(axes, cells))
    write_whole_file((std::filesystem::path(flags.figures) / name).string(), svg);
}

int run_sweep(CommandContext& context, const SweepFlags& flags) {
  const std::vector<SweepAxis> axes = sweep_axes(flags.over);
  JobFlags job_flags = flags.job;
  job_flags.settings.push_back("run.output=");
  const std::vector<SweepCell> cells = sweep_cells(job_flags, axes, flags.seeds, context.max_memory_bytes);
  SweepTable table(axes, std::string(kVersion));
  if (flags.force)
    require_replaceable(flags.output, true);
  else
    table.resume(flags.output, cells);
  require_writable(flags.output);
  if (!flags.figures.empty()) require_folder(flags.figures, "--figures");

  ProgressPrinter printer(context, "bar");
  const std::atomic<bool>& stop = watch_stop_signals(true);
  const QuietRun options{std::string(kVersion), stop, [&](const RunProgress& now) { printer(now); },
                         [&](const std::string& text) { printer.warn(text); }};
  int done = 0;
  for (const SweepCell& cell : cells) {
    ++done;
    if (table.has(cell)) continue;
    printer.note(fmt::format("{} of {}: {}", done, cells.size(), place_of(cell, axes)));
    const Result<SeededRuns> runs = capture([&] { return run_seeds(cell.job, cell.seeds, options); });
    if (!runs) {
      printer.clear();
      throw Error(runs.error().code(), fmt::format("{}: {}", place_of(cell, axes), runs.error().what()),
                  fmt::format("{} of {} {} in \"{}\"; the same command goes on from there", done - 1,
                              cells_text(cells.size()), done == 2 ? "is" : "are", flags.output));
    }
    table.add(cell, *runs);
    write_whole_file(flags.output, table.csv(cells));
  }
  printer.clear();
  write_whole_file(flags.output, table.csv(cells));  // rows of other sweeps are gone, and cells are in order
  write_figures(flags, table, axes, cells);
  context.err << fmt::format("{} {} in {}\n", cells_text(cells.size()), cells.size() == 1 ? "is" : "are", flags.output);
  return kExitDone;
}

}  // namespace

Command declare_sweep() {
  auto flags = std::make_shared<SweepFlags>();
  Command command;
  command.flags = job_flags(flags->job);
  const std::vector<Flag> own = {
      {.names = "--over",
       .help = "KEY=VALUE,VALUE,...: a config key and its values; may repeat",
       .target = &flags->over,
       .required = true},
      {.names = "--seeds",
       .help = "masks to draw for each cell",
       .target = &flags->seeds,
       .rule = IntegerBetween{1, 1000},
       .default_text = "1"},
      {.names = "-o,--output",
       .help = "the table, as CSV; goes on where it stopped",
       .target = &flags->output,
       .required = true},
      {.names = "--figures", .help = "write figures as SVG files into this folder", .target = &flags->figures},
      {.names = "--force", .help = "begin anew, whatever the file holds", .target = &flags->force},
  };
  command.flags.insert(command.flags.end(), own.begin(), own.end());
  command.action = [flags](CommandContext& context) { return run_sweep(context, *flags); };
  return command;
}

}  // namespace spscope
