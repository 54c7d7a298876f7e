#include "backend/cli/advise_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/judgement.h"
#include "backend/base/listed.h"
#include "backend/config/parallel_settings.h"
#include "backend/study/engine_choice.h"
#include "backend/study/weight_layout.h"

namespace spscope {
namespace {

Error no_strategy(const Engine& engine, const Job& job) {
  const auto error = [&](const std::string& why, std::string hint) {
    return Error(ErrorCode::kUsage, fmt::format("--engine {}: {}", engine.id, why), std::move(hint));
  };
  if (!has_sparse_masks(job))
    return error("it has no strategy for these ranks", "leave --engine out to see which engines do");
  const std::string pattern = backend_masks(job), &model = job.config.model.preset;
  const bool is_file = !job.config.mask.file.empty();
  if (const std::string limit = why_no_backend(engine, job); !limit.empty())
    return error(
        limit, fmt::format("leave --{} out for dense attention, or leave --engine out", is_file ? "mask" : "density"));
  if (const auto own = engine.patterns(model); !own.empty())
    return error("docs/engines.md knows no attention backend of it with masks of " + pattern,
                 fmt::format("ask for {} with {} {}", is_file ? "the times of one that it has" : "those that it has",
                             is_file ? "--kernel" : "--pattern", listed(own, "or")));
  std::vector<std::string_view> others;
  for (const Engine& other : engines()) {
    const std::vector<std::string_view> patterns = other.patterns(model);
    const bool has = pattern == kOwnMasks ? !patterns.empty() : std::ranges::count(patterns, pattern) > 0;
    if (has) others.push_back(other.id);
  }
  return error("docs/engines.md knows no sparse attention of it for " + model,
               others.empty() ? "leave --engine out"
                              : fmt::format("leave --{} out, or use --engine {}", is_file ? "mask" : "density",
                                            listed(others, "or")));
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
  if (job.strategies.empty()) throw no_strategy(*engine, job);
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
    if (engine != nullptr && !has_division(*engine, job, setting.guidance)) continue;
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

Answer answer_of(JobFlags job_flags, const Engine* engine, int seeds, const QuietRun& options,
                 std::int64_t max_memory_bytes) {
  Job job = load_for(engine, job_flags, max_memory_bytes);
  const std::vector<std::vector<std::string>> open = open_divisions(job, engine);
  std::vector<Job> jobs = jobs_of(open, job_flags, engine, max_memory_bytes);
  Divisions divisions;
  if (!jobs.empty()) {
    divisions = time_divisions(jobs, seeds, options);
    job = jobs[divisions.fastest];
    const std::vector<std::string>& chosen = open[divisions.fastest];
    if (divisions.fastest > 0) job_flags.settings.insert(job_flags.settings.end(), chosen.begin(), chosen.end());
  }
  Advice advice = advise(job, seeds, options, std::move(divisions), engine);
  return {std::move(job_flags), std::move(job), std::move(jobs), std::move(advice)};
}

}  // namespace

Answer best_answer(const JobFlags& job_flags, const Engine* engine, int seeds, const QuietRun& options,
                   std::int64_t max_memory_bytes) {
  Answer answer = answer_of(job_flags, engine, seeds, options, max_memory_bytes);
  if (!sharding_may_help(answer.job, answer.advice, engine)) return answer;
  if (engine != nullptr && !engine->has(EngineFeature::kSharded, answer.job.config.model.preset)) return answer;
  JobFlags with = job_flags;
  with.settings.emplace_back("run.weights=sharded");
  Answer sharded = answer_of(std::move(with), engine, seeds, options, max_memory_bytes);
  LayoutChoice choice = choose_layout(sharded.job, answer.advice, sharded.advice, engine);
  if (choice.sharded) answer = std::move(sharded);
  answer.advice.layout = std::move(choice.sentence);
  answer.advice.unsharded = std::move(choice.unsharded);
  return answer;
}

AdviceFacts facts_of(const Answer& answer, const Engine* engine, bool dense, int seeds, const QuietRun& options) {
  AdviceFacts facts;
  facts.code = code_text(answer.job);
  facts.engine = engine;
  facts.gpus = answer.job.cluster.ranks;
  if (answer.advice.chosen.empty()) return facts;
  const std::string& argument = answer.advice.argument;
  const std::optional<RatioError> error = judge(by_mode(answer.advice.judged).front()).error;
  if (engine == nullptr || engine->settings.empty())  // else its code is its own
    facts.other_code =
        with_other_code(answer.job_flags, answer.job, argument, engine, error ? error->median : 0, seeds, options);
  if (dense && (engine == nullptr || !engine->patterns(answer.job.config.model.preset).empty()))
    facts.sparse_masks = with_sparse_masks(answer.job_flags, answer.job, argument, engine, seeds, options);
  return facts;
}

Divisions supposed_divisions(const std::vector<Job>& jobs, const WhatIf& what_if, int seeds, const QuietRun& options) {
  std::vector<Job> others;
  for (const Job& job : jobs) others.push_back(supposed(job, what_if));
  return others.empty() ? Divisions() : time_divisions(others, seeds, options);
}

}  // namespace spscope
