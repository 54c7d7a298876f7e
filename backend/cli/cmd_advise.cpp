// `spscope advise`: which strategy to use for a model on a cluster: one sentence, one table, two next commands.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/number_text.h"
#include "backend/base/shell_word.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/progress_printer.h"
#include "backend/config/parallel_settings.h"
#include "backend/launch/stop_signals.h"
#include "backend/report/json_result.h"
#include "backend/report/render.h"
#include "backend/study/advice.h"
#include "backend/study/weight_layout.h"
#include "backend/study/what_if.h"

namespace spscope {
namespace {

constexpr int kSeeds = 3;

struct AdviseFlags {
  std::string config, model, cluster, pattern, mask, density, what_if;
  int ranks = 0, seeds = kSeeds;
  std::int64_t tokens = 0;
  std::vector<std::string> strategies, settings;
};

// The flags that name the question, as they are typed.
std::string typed(const AdviseFlags& flags) {
  std::string text;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
  };
  if (!flags.config.empty()) text += " " + shell_word(flags.config);
  add("--model", flags.model);
  add("--cluster", flags.cluster);
  add("--density", flags.density);
  add("--pattern", flags.pattern);
  add("--mask", flags.mask);
  add("--seeds", flags.seeds == kSeeds ? "" : std::to_string(flags.seeds));
  add("--ranks", flags.ranks > 0 ? std::to_string(flags.ranks) : "");
  add("--tokens", flags.tokens > 0 ? std::to_string(flags.tokens) : "");
  for (const std::string& s : flags.strategies) add("-s", s);
  for (const std::string& s : flags.settings) add("--set", s);
  return text;
}

// The frames stay, height and width grow alike, as resolutions do.
TokenGrid scaled_grid(const TokenGrid& grid, std::int64_t tokens) {
  const double area = static_cast<double>(tokens) / grid[0];
  const double height = grid[1] * std::sqrt(area / (static_cast<double>(grid[1]) * grid[2]));
  TokenGrid scaled = {grid[0], std::max(1, static_cast<int>(std::lround(height))), 1};
  scaled[2] = std::max(1, static_cast<int>(std::lround(area / scaled[1])));
  return scaled;
}

void require_question(const AdviseFlags& flags) {
  std::vector<Problem> problems;
  const auto require = [&](const std::string& value, const char* flag, const char* list, const char* section) {
    const bool is_set =
        std::ranges::any_of(flags.settings, [&](const std::string& s) { return s.starts_with(section); });
    if (value.empty() && flags.config.empty() && !is_set)
      problems.push_back({ErrorCode::kUsage,
                          "",
                          fmt::format("spscope advise lacks {}, or a config that names it", flag),
                          fmt::format("spscope list {} shows them", list),
                          {}});
  };
  require(flags.model, "--model", "models", "model.preset=");
  require(flags.cluster, "--cluster", "clusters", "cluster.p");
  if (!problems.empty()) throw Error(std::move(problems));
}

// What is asked, as settings of a run: first what --set may replace.
JobFlags job_flags_of(const AdviseFlags& flags, std::int64_t max_memory_bytes) {
  JobFlags job{
      flags.config, flags.strategies, {"run.mode=simulate", "run.scope=layer", "run.layers=spread:2", "run.output="}};
  if (job.strategies.empty()) job.strategies = {std::string(kAllStrategies)};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) job.settings.push_back(fmt::format("{}={}", key, value));
  };
  add("model.preset", flags.model);
  add(flags.cluster.ends_with(".toml") ? "cluster.profile" : "cluster.preset", flags.cluster);
  add("cluster.ranks", flags.ranks > 0 ? std::to_string(flags.ranks) : "");
  add("mask.density", flags.density);
  add("mask.pattern", flags.pattern);
  add("mask.file", flags.mask);
  if (flags.tokens > 0) {
    JobFlags without_mask = job;
    std::erase_if(without_mask.settings, [](const std::string& s) { return s.starts_with("mask.file="); });
    const TokenGrid grid = scaled_grid(load_job(without_mask, max_memory_bytes).model.grid, flags.tokens);
    add("model.grid", fmt::format("{},{},{}", grid[0], grid[1], grid[2]));
  }
  const std::size_t own = job.settings.size();
  job.settings.insert(job.settings.end(), flags.settings.begin(), flags.settings.end());
  // Of models with two kinds of blocks two layers are one of each, whatever they have more of; three are nearly as they
  // have them.
  const Model model = load_job(job, max_memory_bytes).model;
  if (model.single_layers > 0 && model.single_layers < model.layers)
    job.settings.insert(job.settings.begin() + static_cast<std::ptrdiff_t>(own), "run.layers=spread:3");
  return job;
}

std::vector<std::string> next_commands(const AdviseFlags& flags, const JobFlags& job_flags, const Job& job,
                                       const Advice& advice) {
  std::string run = "spscope run";
  if (!flags.config.empty()) run += " " + shell_word(flags.config);
  for (const std::string& setting : job_flags.settings)
    if (setting != "run.output=") run += " --set " + shell_word(setting);
  run += " -s " + shell_word(advice.fastest_argument);
  if (advice.fastest != advice.reference) run += " -s " + shell_word(advice.reference_argument);
  const char* supposed = job.cluster.nodes > 1 ? "nic=0.5" : job.cluster.ranks > 1 ? "link=0.5" : "memory=0.5";
  const std::string what_if = fmt::format("spscope advise{} --what-if {}", typed(flags), supposed);
  return {run + " -o advice.db --force", what_if};
}

Json id_json(const std::string& id) { return id.empty() ? Json(nullptr) : Json(id); }

Json spread_json(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"mean", spread.mean}, {"least", spread.least}, {"most", spread.most}, {"seeds", spread.count}};
}

Json divisions_json(const Divisions& divisions) {
  Json list = Json::array();
  for (const DivisionTime& t : divisions.times) {
    const bool known = t.end_to_end_ns > 0;
    list.push_back({{"dp", t.setting.dp},
                    {"guidance", t.setting.guidance},
                    {"ranks", t.ranks},
                    {"best", known ? Json(t.best) : Json(nullptr)},
                    {"end_to_end_ns", known ? Json(t.end_to_end_ns) : Json(nullptr)},
                    {"samples_per_hour", known ? Json(t.samples_per_hour) : Json(nullptr)}});
  }
  return list;
}

Json advice_json(const Advice& advice, const std::vector<std::string>& next) {
  Json object = {{"schema_version", 1},
                 {"tool_version", kVersion},
                 {"best", id_json(advice.best())},
                 {"fastest", id_json(advice.fastest)},
                 {"reference", id_json(advice.reference)},
                 {"argument", advice.fastest.empty() ? Json(nullptr) : Json(advice.fastest_argument)},
                 {"speedup", spread_json(advice.speedup)},
                 {"as_fast", Json::array()},
                 {"sentences", Json::array()},
                 {"next_commands", Json::array()},
                 {"seeds", Json::array()},
                 {"divisions", divisions_json(advice.divisions)},
                 {"what_if", nullptr}};
  for (const std::string& label : advice.as_fast) object["as_fast"].push_back(label);
  for (const std::string& sentence : advice.sentences) object["sentences"].push_back(sentence);
  for (const std::string& command : next) object["next_commands"].push_back(command);
  for (const std::uint64_t seed : advice.runs.seeds) object["seeds"].push_back(seed);
  object["comparison"] = result_json(advice.runs.together);
  return object;
}

// Every division of the ranks that the config leaves open, as settings of a run.
std::vector<std::vector<std::string>> open_divisions(const Job& job) {
  const bool has_dp = job.places.contains("cluster.dp"), has_guidance = job.places.contains("cluster.guidance");
  std::vector<std::vector<std::string>> divisions;
  if (has_dp && has_guidance) return divisions;
  for (const ParallelSetting& setting : parallel_settings(job.model, job.cluster)) {
    if ((has_dp && setting.dp != job.cluster.dp) || (has_guidance && setting.guidance != job.cluster.guidance))
      continue;
    divisions.push_back(
        {fmt::format("cluster.dp={}", setting.dp), fmt::format("cluster.guidance={}", setting.guidance)});
  }
  return divisions;
}

// A job for each of them; none where there is nothing to choose.
std::vector<Job> jobs_of(const std::vector<std::vector<std::string>>& divisions, const JobFlags& job_flags,
                         std::int64_t max_memory_bytes) {
  std::vector<Job> jobs;
  if (divisions.size() < 2) return jobs;
  for (const std::vector<std::string>& settings : divisions) {
    JobFlags with = job_flags;
    with.settings.insert(with.settings.end(), settings.begin(), settings.end());
    jobs.push_back(load_job(with, max_memory_bytes));
  }
  return jobs;
}

// Of the same jobs on another machine.
Divisions supposed_divisions(const std::vector<Job>& jobs, const WhatIf& what_if, const QuietRun& options) {
  std::vector<Job> others;
  for (const Job& job : jobs) others.push_back(supposed(job, what_if));
  return others.empty() ? Divisions() : time_divisions(others, options);
}

// An answer with what it was asked as: the settings of a run, and the jobs that its division was chosen from.
struct Answer {
  JobFlags job_flags;
  Job job;
  std::vector<Job> jobs;
  Advice advice;
};

Answer answer_of(JobFlags job_flags, int seeds, const QuietRun& options, std::int64_t max_memory_bytes) {
  Job job = load_job(job_flags, max_memory_bytes);
  const std::vector<std::vector<std::string>> open = open_divisions(job);
  std::vector<Job> jobs = jobs_of(open, job_flags, max_memory_bytes);
  Divisions divisions;
  if (!jobs.empty()) {
    divisions = time_divisions(jobs, options);
    job = jobs[divisions.fastest];
    const std::vector<std::string>& chosen = open[divisions.fastest];
    if (divisions.fastest > 0) job_flags.settings.insert(job_flags.settings.end(), chosen.begin(), chosen.end());
  }
  Advice advice = advise(job, seeds, options, std::move(divisions));
  return {std::move(job_flags), std::move(job), std::move(jobs), std::move(advice)};
}

// With the weights as they are faster, where the config leaves that open.
Answer best_answer(const JobFlags& job_flags, int seeds, const QuietRun& options, std::int64_t max_memory_bytes) {
  Answer answer = answer_of(job_flags, seeds, options, max_memory_bytes);
  if (!sharding_may_help(answer.job, answer.advice)) return answer;
  JobFlags with = job_flags;
  with.settings.emplace_back("run.weights=sharded");
  Answer sharded = answer_of(std::move(with), seeds, options, max_memory_bytes);
  LayoutChoice choice = choose_layout(sharded.job, answer.advice, sharded.advice);
  if (choice.sharded) answer = std::move(sharded);
  std::vector<std::string>& sentences = answer.advice.sentences;
  if (!choice.sentence.empty())
    sentences.insert(sentences.begin() + 1, std::move(choice.sentence));  // after what to use
  return answer;
}

int run_advise(CommandContext& context, const AdviseFlags& flags) {
  require_question(flags);
  const JobFlags job_flags = job_flags_of(flags, context.max_memory_bytes);
  const Job as_asked = load_job(job_flags, context.max_memory_bytes);
  if (as_asked.config.run.mode != RunMode::kSimulate)
    throw Error(ErrorCode::kUsage, "spscope advise answers from a model of the cluster", "leave run.mode out");
  const std::optional<WhatIf> what_if =
      flags.what_if.empty() ? std::nullopt : std::optional(parse_what_if(flags.what_if));
  if (what_if) static_cast<void>(supposed(as_asked, *what_if));  // that it can be

  ProgressPrinter printer(context, "bar");
  const QuietRun options{std::string(kVersion), watch_stop_signals(true), [&](const RunProgress& now) { printer(now); },
                         [&](const std::string& w) { printer.warn(w); }};
  const auto [asked, job, jobs, advice] = best_answer(job_flags, flags.seeds, options, context.max_memory_bytes);
  std::optional<Advice> then;
  if (what_if)
    then = advise(supposed(job, *what_if), flags.seeds, options, supposed_divisions(jobs, *what_if, options));
  printer.clear();

  const std::vector<std::string> next =
      advice.fastest.empty() ? std::vector<std::string>() : next_commands(flags, asked, job, advice);
  const int code = advice.fastest.empty() ? kExitUsage : kExitDone;
  if (context.json) {
    Json object = advice_json(advice, next);
    if (then) {
      object["what_if"] = {{"text", what_if->text},
                           {"best", id_json(then->best())},
                           {"fastest", id_json(then->fastest)},
                           {"divisions", divisions_json(then->divisions)},
                           {"comparison", result_json(then->runs.together)}};
    }
    context.out << object.dump(2) << '\n';
    return code;
  }
  const TerminalStyle style = terminal_style(context.color);
  for (const std::string& sentence : advice.sentences) context.out << wrapped_text(sentence, style.width);
  context.out << '\n' << wrapped_text(question_line(advice), style.width);
  context.out << render_terminal(advice_section(advice), style);
  if (then) {
    const Section section = what_if_section(advice, *then, *what_if);
    context.out << '\n' << section.title << '\n' << render_terminal(section, style);
  }
  if (!next.empty()) {
    context.out << "\nWhere the time goes, kept in a file; and the same on another machine:\n";
    for (const std::string& command : next) context.out << "  " << command << '\n';
  }
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
      {.names = "--density", .help = "share of active query-key pairs; 0.4 when not given", .target = &flags->density},
      {.names = "--pattern", .help = "mask pattern; sparge when not given", .target = &flags->pattern},
      {.names = "--mask", .help = "mask of your own, in place of a pattern", .target = &flags->mask},
      {.names = "--ranks",
       .help = "ranks; all GPUs of the cluster when not given",
       .target = &flags->ranks,
       .rule = IntegerBetween{1, 65536}},
      {.names = "--tokens",
       .help = "video tokens: height and width of the model's grid are scaled to come near",
       .target = &flags->tokens,
       .rule = IntegerBetween{1, 100'000'000}},
      {.names = "--seeds",
       .help = "masks to draw",
       .target = &flags->seeds,
       .rule = IntegerBetween{1, 1000},
       .default_text = std::to_string(kSeeds)},
      {.names = "--what-if",
       .help = "NAME=NUMBER,...: the same on other hardware or at another density, beside it",
       .target = &flags->what_if},
      {.names = "-s,--strategy",
       .help = "NAME or NAME:key=value,... in place of all; may repeat",
       .target = &flags->strategies},
      {.names = "--set", .help = "section.key=value, over all else; may repeat", .target = &flags->settings},
  };
  command.action = [flags](CommandContext& context) { return run_advise(context, *flags); };
  return command;
}

}  // namespace spscope
