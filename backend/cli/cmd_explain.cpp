// `spscope explain RUN.db`: one layer pass of a stored run, and what each strategy loses in it.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "backend/base/listed.h"
#include "backend/base/number_text.h"
#include "backend/base/printable.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/report/explain.h"
#include "backend/report/observed_part.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

constexpr int kAbsent = -1;

struct ExplainFlags {
  std::string file;
  std::vector<std::string> strategies;
  bool all = false;
  int layer = kAbsent, step = kAbsent, repeat = kAbsent;
};

// Those that choose strategies, layer passes and repeats.
std::vector<std::string> choices_in(const ExplainFlags& flags) {
  std::vector<std::string> given;
  if (!flags.strategies.empty()) given.emplace_back("-s");
  if (flags.all) given.emplace_back("--all");
  if (flags.layer != kAbsent) given.emplace_back("--layer");
  if (flags.step != kAbsent) given.emplace_back("--step");
  if (flags.repeat != kAbsent) given.emplace_back("--repeat");
  return given;
}

// Of programs that were observed, which have no layer pass.
void explain_observed(CommandContext& context, const ExplainFlags& flags, std::span<const Observation> observed) {
  if (const std::vector<std::string> given = choices_in(flags); !given.empty())
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} {} among strategies and their layer passes, and \"{}\" has none: it is of a program that was "
                    "observed, {}",
                    listed(given), given.size() == 1 ? "chooses" : "choose", flags.file,
                    observed.front().run.short_command()),
        fmt::format("leave {} out", listed(given)));
  if (context.json) {
    context.out << render_json(flags.file, observed);
    return;
  }
  for (const Observation& o : observed)
    context.out << printable_line(o.run.short_command()) << "\n\n" << wrapped_text(who_waits_text(o), text_width());
  context.out << "\nspscope report has the work of each rank, spscope gui the timeline.\n";
}

int run_explain(CommandContext& context, const ExplainFlags& flags) {
  ExplainRequest request;
  request.strategies = flags.strategies;
  if (flags.layer != kAbsent) request.layer = flags.layer;
  if (flags.step != kAbsent) request.denoise_step = flags.step;
  if (flags.repeat != kAbsent) request.repeat = flags.repeat;
  const StoreReader reader(flags.file);
  if (const std::vector<Observation> observed = observations(reader); !observed.empty()) {
    explain_observed(context, flags, observed);
    return kExitDone;
  }
  const Explanation explanation = explain(reader, request);
  if (context.json) {
    context.out << render_json(explanation);
    return kExitDone;
  }
  const TerminalStyle style = terminal_style(context.color);
  bool first = true;
  const bool all = flags.all || !flags.strategies.empty();
  for (const Section& section :
       explanation_sections(explanation, all ? ShownStrategies::kAll : ShownStrategies::kTwo)) {
    context.out << (first ? "" : "\n") << printable_line(section.title) << '\n' << render_terminal(section, style);
    first = false;
  }
  return kExitDone;
}

}  // namespace

Command declare_explain() {
  auto flags = std::make_shared<ExplainFlags>();
  Command command;
  command.flags = {
      {.names = "file", .help = "a stored run", .target = &flags->file, .required = true},
      {.names = "-s,--strategy",
       .help = "explain this one beside the fastest, by its id, name or label; may be repeated",
       .target = &flags->strategies},
      {.names = "--all", .help = "show details of every strategy, not of two alone", .target = &flags->all},
      {.names = "--layer",
       .help = "the layer; without it the slowest layer pass is taken",
       .target = &flags->layer,
       .rule = IntegerBetween{0, kMaxPlace}},
      {.names = "--step",
       .help = "the denoise step; without it that of the slowest layer pass",
       .target = &flags->step,
       .rule = IntegerBetween{0, kMaxPlace}},
      {.names = "--repeat",
       .help = "the repeat; without it of each strategy the one with the median makespan",
       .target = &flags->repeat,
       .rule = IntegerBetween{0, kMaxPlace}},
  };
  command.action = [flags](CommandContext& context) { return run_explain(context, *flags); };
  return command;
}

}  // namespace spscope
