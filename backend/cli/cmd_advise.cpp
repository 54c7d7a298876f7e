// `spscope advise`: which strategy to use for a model on a cluster: a few sentences, one table, two next commands, on
// 30 lines where --all does not ask for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/number_text.h"
#include "backend/base/shell_word.h"
#include "backend/base/whole_file.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/progress_printer.h"
#include "backend/cli/short_answer.h"
#include "backend/config/config_text.h"
#include "backend/config/engines.h"
#include "backend/config/parallel_settings.h"
#include "backend/config/text_file.h"
#include "backend/launch/stop_signals.h"
#include "backend/report/json_result.h"
#include "backend/report/render.h"
#include "backend/study/advice_words.h"
#include "backend/study/engine_choice.h"
#include "backend/study/weight_layout.h"
#include "backend/study/what_if.h"

namespace spscope {
namespace {

constexpr int kSeeds = 3;
constexpr int kMostLines = 30;
constexpr std::size_t kMostRows = 6;  // of the table of strategies on so many lines
// The first line of files that --save writes, and may write again.
constexpr std::string_view kSavedBy = "# spscope advise";

struct AdviseFlags {
  std::string config, model, cluster, pattern, mask, density, kernel, implementation, engine, what_if, save;
  int ranks = 0, seeds = kSeeds;
  std::int64_t tokens = 0;
  bool all = false;
  std::vector<std::string> strategies, settings;
};

// Flags that set a key of the config, with that key.
struct KeyFlag {
  const char *flag, *key;
  std::string AdviseFlags::*value;
};
constexpr KeyFlag kKeyFlags[] = {{"--model", "model.preset", &AdviseFlags::model},
                                 {"--cluster", "cluster.preset", &AdviseFlags::cluster},
                                 {"--density", "mask.density", &AdviseFlags::density},
                                 {"--pattern", "mask.pattern", &AdviseFlags::pattern},
                                 {"--mask", "mask.file", &AdviseFlags::mask},
                                 {"--kernel", "run.attention_kernel", &AdviseFlags::kernel},
                                 {"--implementation", "run.implementation", &AdviseFlags::implementation}};

// The flags that name the question, as they are typed.
std::string typed(const AdviseFlags& flags) {
  std::string text;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
  };
  if (!flags.config.empty()) text += " " + shell_word(flags.config);
  for (const KeyFlag& row : kKeyFlags) add(row.flag, flags.*row.value);
  add("--engine", flags.engine);
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

// Whether masks are asked for, by a flag, --set or the config.
bool asks_for_masks(const AdviseFlags& flags, const Job& job) {
  return !flags.density.empty() || !flags.pattern.empty() || !flags.mask.empty() ||
         std::ranges::any_of(std::array{"mask.density", "mask.pattern", "mask.file", "model.activations"},
                             [&](const char* key) { return job.places.contains(key); });
}

// What is asked, as settings of a run: first what --set may replace.
// `dense`: set where masks are not asked for, so that the answer is for dense attention.
JobFlags job_flags_of(const AdviseFlags& flags, std::int64_t max_memory_bytes, bool& dense) {
  JobFlags job{
      flags.config, flags.strategies, {"run.mode=simulate", "run.scope=layer", "run.layers=spread:2", "run.output="}};
  if (job.strategies.empty()) job.strategies = {std::string(kAllStrategies)};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) job.settings.push_back(fmt::format("{}={}", key, value));
  };
  for (const KeyFlag& row : kKeyFlags) {
    const std::string& value = flags.*row.value;
    const bool is_file = value.ends_with(".toml") && std::string_view(row.flag) == "--cluster";
    const std::string key = is_file ? "cluster.profile" : row.key;
    add(key, value);
    if (!value.empty()) job.flags.emplace_back(key, row.flag);
  }
  add("cluster.ranks", flags.ranks > 0 ? std::to_string(flags.ranks) : "");
  job.flags.emplace_back("cluster.ranks", "--ranks");
  if (flags.tokens > 0) {
    JobFlags without_mask = job;
    std::erase_if(without_mask.settings, [](const std::string& s) { return s.starts_with("mask.file="); });
    const TokenGrid grid = scaled_grid(load_job(without_mask, max_memory_bytes).model.grid, flags.tokens);
    add("model.grid", fmt::format("{},{},{}", grid[0], grid[1], grid[2]));
  }
  const std::size_t own = job.settings.size();
  job.settings.insert(job.settings.end(), flags.settings.begin(), flags.settings.end());
  const auto insert = [&](const char* setting) {
    job.settings.insert(job.settings.begin() + static_cast<std::ptrdiff_t>(own), setting);
  };
  const Job asked = load_job(job, max_memory_bytes);
  // Of models with two kinds of blocks two layers are one of each, whatever they have more of; three are nearly as they
  // have them.
  if (asked.model.single_layers > 0 && asked.model.single_layers < asked.model.layers) insert("run.layers=spread:3");
  dense = !asks_for_masks(flags, asked);
  if (dense) insert("mask.pattern=dense");
  return job;
}

std::vector<std::string> next_commands(const AdviseFlags& flags, const Job& job) {
  const std::string file = flags.save.empty() ? "advice.toml" : flags.save;
  const char* supposed = job.cluster.nodes > 1 ? "nic=0.5" : job.cluster.ranks > 1 ? "link=0.5" : "memory=0.5";
  std::vector<std::string> commands;
  if (flags.save.empty()) commands.push_back(fmt::format("spscope advise{} --save {}", typed(flags), file));
  commands.push_back(fmt::format("spscope run {} -o advice.db --force", shell_word(file)));
  if (flags.what_if.empty()) commands.push_back(fmt::format("spscope advise{} --what-if {}", typed(flags), supposed));
  return commands;
}

// The run of the fastest and of what it is compared with, as a config.
void save(const AdviseFlags& flags, const Job& job, const Advice& advice) {
  RunConfig config = job.config;
  config.run.strategies = {advice.fastest_argument};
  if (advice.fastest != advice.reference) config.run.strategies.push_back(advice.reference_argument);
  if (std::filesystem::exists(flags.save)) {
    constexpr std::size_t kMostBytes = 1 << 20;
    const Result<std::string> old = read_text_file(flags.save, kMostBytes);
    if (!old || !old->starts_with(kSavedBy))
      throw Error(ErrorCode::kOutputPlace,
                  fmt::format("--save {}: the file exists and is not of spscope advise", flags.save),
                  "name another file");
  }
  write_whole_file(flags.save, fmt::format("{}{}\n{}", kSavedBy, typed(flags), runnable_toml(std::move(config))));
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

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

Json other_json(const std::optional<OtherTime>& other) {
  if (!other || other->end_to_end_ns == 0) return nullptr;
  return {{"text", other->text}, {"end_to_end_ns", other->end_to_end_ns}};
}

// By id of those that can run; of plans that are equal to another they are that one's.
Json engines_json(const Advice& advice) {
  Json object = Json::object();
  for (const auto& [id, engines] : advice.engines) {
    object[id] = Json::array();
    for (const std::string_view engine : engines) object[id].push_back(engine);
  }
  return object;
}

Json advice_json(const Advice& advice, const Job& job, const AdviceFacts& facts,
                 const std::vector<std::string>& sentences, const std::vector<std::string>& next) {
  Json object = {{"schema_version", 1},
                 {"tool_version", kVersion},
                 {"best", id_json(advice.best())},
                 {"fastest", id_json(advice.fastest)},
                 {"reference", id_json(advice.reference)},
                 {"argument", advice.fastest.empty() ? Json(nullptr) : Json(advice.fastest_argument)},
                 {"speedup", spread_json(advice.speedup)},
                 {"as_fast", texts_json(advice.as_fast)},
                 {"sentences", texts_json(sentences)},
                 {"notes", texts_json(deciding_notes(advice))},
                 {"attention_kernel", id_json(job.cluster.preset.attention_kernel)},
                 {"implementation", id_json(job.cluster.preset.implementation)},
                 {"other_code", other_json(facts.other_code)},
                 {"sparse_masks", other_json(facts.sparse_masks)},
                 {"engine", facts.engine ? Json(facts.engine->id) : Json(nullptr)},
                 {"engines", engines_json(advice)},
                 {"next_commands", texts_json(next)},
                 {"seeds", Json::array()},
                 {"divisions", divisions_json(advice.divisions)},
                 {"what_if", nullptr}};
  for (const std::uint64_t seed : advice.runs.seeds) object["seeds"].push_back(seed);
  object["comparison"] = result_json(advice.runs.together);
  return object;
}

// A job of what the engine has; of all there is where there is none.
Job load_for(const Engine* engine, const JobFlags& flags, std::int64_t max_memory_bytes) {
  Job job = load_job(flags, max_memory_bytes);
  if (engine == nullptr) return job;
  if (!engine->runs_model(job.config.model.preset))
    throw Error(
        ErrorCode::kUsage, fmt::format("--engine {}: it does not run {}", engine->id, job.config.model.preset),
        fmt::format("it runs models whose names begin with {}; docs/engines.md has other engines", engine->models));
  restrict_to(*engine, job);
  if (job.strategies.empty()) {
    const bool sparse = job.config.mask.pattern != "dense" && !engine->has(EngineFeature::kSparse);
    throw Error(
        ErrorCode::kUsage,
        fmt::format("--engine {}: {}", engine->id,
                    sparse ? "docs/engines.md knows no sparse attention of it" : "it has no strategy for these ranks"),
        sparse ? "leave --density out, or use --engine sglang or vllm-omni"
               : "leave --engine out to see which engines do");
  }
  return job;
}

// Every division of the ranks that the config leaves open, as settings of a run.
std::vector<std::vector<std::string>> open_divisions(const Job& job, const Engine* engine) {
  const bool has_dp = job.places.contains("cluster.dp"), has_guidance = job.places.contains("cluster.guidance");
  std::vector<std::vector<std::string>> divisions;
  if (has_dp && has_guidance) return divisions;
  for (const ParallelSetting& setting : parallel_settings(job.model, job.cluster)) {
    if ((has_dp && setting.dp != job.cluster.dp) || (has_guidance && setting.guidance != job.cluster.guidance))
      continue;
    if (engine != nullptr && !has_division(*engine, setting.guidance)) continue;
    divisions.push_back(
        {fmt::format("cluster.dp={}", setting.dp), fmt::format("cluster.guidance={}", setting.guidance)});
  }
  return divisions;
}

// A job for each of them; none where there is nothing to choose.
std::vector<Job> jobs_of(const std::vector<std::vector<std::string>>& divisions, const JobFlags& job_flags,
                         const Engine* engine, std::int64_t max_memory_bytes) {
  std::vector<Job> jobs;
  if (divisions.size() < 2) return jobs;
  for (const std::vector<std::string>& settings : divisions) {
    JobFlags with = job_flags;
    with.settings.insert(with.settings.end(), settings.begin(), settings.end());
    jobs.push_back(load_for(engine, with, max_memory_bytes));
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

Answer answer_of(JobFlags job_flags, const Engine* engine, int seeds, const QuietRun& options,
                 std::int64_t max_memory_bytes) {
  Job job = load_for(engine, job_flags, max_memory_bytes);
  const std::vector<std::vector<std::string>> open = open_divisions(job, engine);
  std::vector<Job> jobs = jobs_of(open, job_flags, engine, max_memory_bytes);
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
Answer best_answer(const JobFlags& job_flags, const Engine* engine, int seeds, const QuietRun& options,
                   std::int64_t max_memory_bytes) {
  Answer answer = answer_of(job_flags, engine, seeds, options, max_memory_bytes);
  if (!sharding_may_help(answer.job, answer.advice)) return answer;
  if (engine != nullptr && !engine->has(EngineFeature::kSharded)) return answer;
  JobFlags with = job_flags;
  with.settings.emplace_back("run.weights=sharded");
  Answer sharded = answer_of(std::move(with), engine, seeds, options, max_memory_bytes);
  LayoutChoice choice = choose_layout(sharded.job, answer.advice, sharded.advice);
  if (choice.sharded) answer = std::move(sharded);
  answer.advice.layout = std::move(choice.sentence);
  return answer;
}

AdviceFacts facts_of(const Answer& answer, const Engine* engine, bool dense, const QuietRun& options) {
  AdviceFacts facts;
  facts.code = code_text(answer.job);
  facts.engine = engine;
  facts.gpus = answer.job.cluster.ranks;
  if (answer.advice.fastest.empty()) return facts;
  const std::string& argument = answer.advice.fastest_argument;
  facts.other_code = with_other_code(answer.job_flags, answer.job, argument, options);
  if (dense) facts.sparse_masks = with_sparse_masks(answer.job_flags, answer.job, argument, options);
  return facts;
}

// Sentences, the question, the table or that of the what-if, what stands behind it, and what to go on with.
std::string printed(const AdviseFlags& flags, const Answer& answer, const AdviceFacts& facts,
                    const std::optional<Section>& what_if, const std::vector<std::string>& next,
                    const TerminalStyle& style) {
  const Advice& advice = answer.advice;
  const auto text_of = [&](const Block& block) { return render_terminal(Section{"", "", {block}}, style); };
  std::vector<AnswerPart> parts;
  for (const AdvicePart& part : advice_sentences(advice, answer.job, facts))
    parts.push_back({text_of(part.block), part.drop});
  parts.push_back({wrapped_text(question_line(advice), style.width), 0, true});
  if (!advice.fastest.empty() && (!what_if || flags.all))
    parts.push_back({render_terminal(
        strategies_table(advice, facts, flags.all, flags.all ? advice.judged.strategies.size() : kMostRows), style)});
  if (what_if)
    for (const Block& block : what_if->blocks) parts.push_back({text_of(block)});
  bool first = true;
  for (const AdvicePart& part : advice_details(advice, flags.all)) {
    const bool is_table = std::holds_alternative<Table>(part.block);
    parts.push_back({text_of(part.block), what_if ? std::max(1, part.drop) : part.drop, first || is_table});
    first = false;
  }
  std::string commands;
  for (const std::string& command : next) commands += "  " + command + '\n';
  parts.push_back({commands, 0, true});
  return answer_text(std::move(parts), flags.all ? 0 : kMostLines, "--all has the rest.");
}

int run_advise(CommandContext& context, const AdviseFlags& flags) {
  require_question(flags);
  const Engine* engine = flags.engine.empty() ? nullptr : &find_engine(flags.engine);
  bool dense = false;
  const JobFlags job_flags = job_flags_of(flags, context.max_memory_bytes, dense);
  const Job as_asked = load_job(job_flags, context.max_memory_bytes);
  if (as_asked.config.run.mode != RunMode::kSimulate)
    throw Error(ErrorCode::kUsage, "spscope advise answers from a model of the cluster", "leave run.mode out");
  const std::optional<WhatIf> what_if =
      flags.what_if.empty() ? std::nullopt : std::optional(parse_what_if(flags.what_if));
  if (what_if) static_cast<void>(supposed(as_asked, *what_if));  // that it can be

  ProgressPrinter printer(context, "bar");
  const QuietRun options{std::string(kVersion), watch_stop_signals(true), [&](const RunProgress& now) { printer(now); },
                         [&](const std::string& w) { printer.warn(w); }};
  const Answer answer = best_answer(job_flags, engine, flags.seeds, options, context.max_memory_bytes);
  const Advice& advice = answer.advice;
  std::optional<Advice> then;
  if (what_if)
    then = advise(supposed(answer.job, *what_if), flags.seeds, options,
                  supposed_divisions(answer.jobs, *what_if, options));
  const AdviceFacts facts = facts_of(answer, engine, dense, options);
  printer.clear();

  const bool can_run = !advice.fastest.empty();
  if (!flags.save.empty() && can_run) save(flags, answer.job, advice);
  const std::vector<std::string> next = can_run ? next_commands(flags, answer.job) : std::vector<std::string>();
  if (context.json) {
    std::vector<std::string> sentences;
    for (const AdvicePart& part : advice_sentences(advice, answer.job, facts))
      sentences.push_back(std::get<Paragraph>(part.block).text);
    Json object = advice_json(advice, answer.job, facts, sentences, next);
    if (then) {
      object["what_if"] = {{"text", what_if->text},
                           {"best", id_json(then->best())},
                           {"fastest", id_json(then->fastest)},
                           {"divisions", divisions_json(then->divisions)},
                           {"comparison", result_json(then->runs.together)}};
    }
    context.out << object.dump(2) << '\n';
    return can_run ? kExitDone : kExitUsage;
  }
  context.out << printed(flags, answer, facts,
                         then ? std::optional(what_if_section(advice, *then, *what_if)) : std::nullopt, next,
                         terminal_style(context.color));
  return can_run ? kExitDone : kExitUsage;
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
      {.names = "--all", .help = "everything that is known, on more than 30 lines", .target = &flags->all},
      {.names = "--save",
       .help = "FILE.toml to write: the fastest and what it is compared with, for spscope run",
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
