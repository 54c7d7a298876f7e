// `spscope advise`: which strategy to use for a model on a cluster: a few sentences, one table, two next commands, on
// 30 lines where --all does not ask for the rest.
#include <algorithm>
#include <memory>
#include <ostream>

#include "backend/base/number_text.h"
#include "backend/cli/advise_answer.h"
#include "backend/cli/advise_json.h"
#include "backend/cli/advise_question.h"
#include "backend/cli/advise_saved.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/short_answer.h"
#include "backend/launch/stop_signals.h"
#include "backend/report/render.h"
#include "backend/study/weight_layout.h"

namespace spscope {
namespace {

constexpr int kMostLines = 30;
constexpr std::size_t kMostRows = 6, kFewestRows = 2;  // of the table of strategies on so many lines
constexpr std::size_t kMostRowsOfWhatIf = 4;           // beside two times each

// Sentences, the question, the table of so many strategies or that of the what-if, what stands behind it, and what to
// go on with.
std::string printed(const AdviseFlags& flags, const Answer& answer, const AdviceFacts& facts, std::size_t most_rows,
                    const std::optional<Section>& what_if, const std::vector<std::string>& next,
                    const TerminalStyle& style) {
  const Advice& advice = answer.advice;
  const auto text_of = [&](const Block& block) { return render_terminal(Section{"", "", {block}}, style); };
  std::vector<AnswerPart> parts;
  std::vector<AdvicePart> said = advice_sentences(advice, answer.job, facts);
  const std::vector<AdvicePart> details = advice_details(advice, facts, flags.all);
  for (const AdvicePart& part : said) parts.push_back({text_of(part.block), part.drop});
  // With few lines, plans that only details name have no row.
  if (most_rows >= kMostRows) said.insert(said.end(), details.begin(), details.end());
  parts.push_back({wrapped_text(question_line(advice, answer.job), style.width), 0, true});
  if (!advice.chosen.empty() && (!what_if || flags.all))
    parts.push_back({render_terminal(
        strategies_table(advice, facts, flags.all, flags.all ? advice.judged.strategies.size() : most_rows, said),
        style)});
  if (what_if)
    for (Block block : what_if->blocks) {
      if (auto* table = std::get_if<Table>(&block); table && !flags.all && table->rows.size() > kMostRowsOfWhatIf)
        table->rows.resize(kMostRowsOfWhatIf);
      parts.push_back({text_of(block)});
    }
  bool first = true;
  for (const AdvicePart& part : details) {
    const bool is_table = std::holds_alternative<Table>(part.block);
    parts.push_back({text_of(part.block), part.drop, first || is_table});
    first = false;
  }
  std::string commands;
  for (const std::string& command : next) commands += "  " + command + '\n';
  parts.push_back({commands, 0, true});
  return answer_text(std::move(parts), flags.all ? 0 : kMostLines, "--all has the rest.");
}

int run_advise(CommandContext& context, const AdviseFlags& flags) {
  require_question(flags);
  if (!flags.save.empty()) require_place_of_advice(flags.save);
  const Engine* engine = flags.engine.empty() ? nullptr : &find_engine(flags.engine);
  const AdviseQuestion question = question_of(flags, engine, context.max_memory_bytes);
  const Job as_asked = load_job(question.job, context.max_memory_bytes);
  if (as_asked.config.run.mode != RunMode::kSimulate)
    throw Error(ErrorCode::kUsage, "spscope advise answers from a model of the cluster", "leave run.mode out");
  const std::optional<WhatIf> what_if =
      flags.what_if.empty() ? std::nullopt : std::optional(parse_what_if(flags.what_if));
  if (what_if) static_cast<void>(supposed(as_asked, *what_if));  // that it can be

  ProgressPrinter printer(context, "bar");
  const QuietRun options{std::string(kVersion), watch_stop_signals(true), [&](const RunProgress& now) { printer(now); },
                         [&](const std::string& w) { printer.warn(w); }};
  const Answer answer = best_answer(question.job, engine, flags.seeds, options, context.max_memory_bytes);
  const Advice& advice = answer.advice;
  std::optional<Advice> then;
  if (what_if)
    then = advise(supposed(answer.job, *what_if), flags.seeds, options,
                  supposed_divisions(answer.jobs, *what_if, flags.seeds, options), engine);
  const AdviceFacts facts = facts_of(answer, engine, question.dense, flags.seeds, options);
  printer.clear();

  const bool can_run = !advice.chosen.empty();
  const int code = can_run && fits_in(engine, advice) ? kExitDone : kExitUsage;
  if (!flags.save.empty() && can_run) save_advice(flags, answer.job, advice);
  const std::vector<std::string> next = can_run ? next_commands(flags, answer.job) : std::vector<std::string>();
  if (context.json) {
    context.out << advice_json(advice, answer.job, facts, next, then ? &*then : nullptr, flags.what_if).dump(2) << '\n';
    return code;
  }
  const std::optional<Section> supposed_times =
      then ? std::optional(what_if_section(advice, *then, *what_if)) : std::nullopt;
  std::size_t rows = kMostRows;
  std::string text;
  do text = printed(flags, answer, facts, rows, supposed_times, next, terminal_style(context.color));
  while (!flags.all && !supposed_times && std::ranges::count(text, '\n') > kMostLines && --rows >= kFewestRows);
  context.out << text;
  return code;
}

}  // namespace

Command declare_advise() {
  auto flags = std::make_shared<AdviseFlags>();
  Command command;
  command.flags = {
      {.names = "config", .help = "TOML file of a run; flags replace parts of it", .target = &flags->config},
      {.names = "--model", .help = "model, as in spscope list models", .target = &flags->model},
      {.names = "--cluster", .help = "cluster, as in spscope list clusters, or FILE.toml", .target = &flags->cluster},
      {.names = "--density",
       .help = "share of active query-key pairs of sparse masks; dense attention without this, --pattern and --mask",
       .target = &flags->density},
      {.names = "--pattern", .help = "mask pattern; sparge where only --density is given", .target = &flags->pattern},
      {.names = "--mask", .help = "mask of your own, in place of a pattern", .target = &flags->mask},
      {.names = "--block", .help = "tokens of a block of the masks; 64 when not given", .target = &flags->block},
      {.names = "--kernel",
       .help = "attention kernel, as in spscope list gpus; what is usual there when not given",
       .target = &flags->kernel},
      {.names = "--implementation",
       .help = "code around it, as in spscope list implementations; compiled when not given",
       .target = &flags->implementation},
      {.names = "--engine",
       .help = "sglang, xdit, diffusers, vllm-omni or wan: only what that engine has, with its flags",
       .target = &flags->engine},
      {.names = "--ranks",
       .help = "ranks; all GPUs of the cluster when not given",
       .target = &flags->ranks,
       .rule = IntegerBetween{1, 65536}},
      {.names = "--tokens",
       .help = "video tokens; spscope scales height and width of the model's grid to come near",
       .target = &flags->tokens,
       .rule = IntegerBetween{1, 100'000'000}},
      {.names = "--seeds",
       .help = "masks to draw",
       .target = &flags->seeds,
       .rule = IntegerBetween{1, 1000},
       .default_text = std::to_string(kAdviseSeeds)},
      {.names = "--what-if",
       .help = "NAME=NUMBER,...: the same on other hardware or at another density, beside it",
       .target = &flags->what_if},
      {.names = "--all", .help = "all that is known; without it at most 30 lines", .target = &flags->all},
      {.names = "--save",
       .help = "FILE.toml to write, for spscope run: the chosen strategy, the next, and that which speed-ups are over",
       .target = &flags->save},
      {.names = "-s,--strategy",
       .help = "NAME or NAME:key=value,... in place of all; may repeat",
       .target = &flags->strategies},
      {.names = "--set", .help = "section.key=value, over all else; may repeat", .target = &flags->settings},
  };
  command.action = [flags](CommandContext& context) { return run_advise(context, *flags); };
  return command;
}

}  // namespace spscope
