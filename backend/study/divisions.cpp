#include "backend/study/divisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "backend/analysis/equal_plans.h"
#include "backend/analysis/ratio_error.h"
#include "backend/analysis/whole_model.h"
#include "backend/base/check.h"
#include "backend/base/number_text.h"
#include "backend/base/stop_point.h"
#include "backend/job/pick_settings.h"
#include "backend/job/plan_size.h"
#include "backend/job/result_of_plans.h"
#include "backend/report/format.h"
#include "backend/study/engine_choice.h"
#include "backend/study/seeds.h"

namespace spscope {
namespace {

ParallelSetting setting_of(const Job& job) { return {job.cluster.dp, job.cluster.guidance}; }

// REQUIRES: the strategy has a time end to end in the division of the job.
DivisionTime time_of(const Job& job, const StrategyResult& s) {
  return {setting_of(job),
          job.cluster.plan_ranks(),
          own_label(s),
          *s.end_to_end_ns,
          s.samples_per_hour.value_or(0),
          s.memory_need,
          engines_with(engine_setup(job, s), job.config.model.preset).empty()};
}

// Of a comparison on as many ranks a pass as the job has.
DivisionTime time_of(const Job& job, Comparison together) {
  Workload& workload = together.workload;
  workload.combine_ns = job.cluster.guidance > 1 ? combining_ns(job, job.cluster.preset) : 0;
  workload.guidance = job.cluster.guidance;
  workload.data_parallel = job.cluster.dp;
  for (StrategyResult& s : together.strategies) set_whole_model(s, workload);
  std::erase_if(together.strategies, [](const StrategyResult& s) { return !s.legal() || !s.end_to_end_ns; });
  if (together.strategies.empty()) return {.setting = setting_of(job), .ranks = job.cluster.plan_ranks()};
  std::ranges::stable_sort(together.strategies, {}, [](const StrategyResult& s) { return *s.end_to_end_ns; });
  const auto run_by_one = std::ranges::find_if(together.strategies, [&](const StrategyResult& s) {
    return !engines_with(engine_setup(job, s), job.config.model.preset).empty();
  });
  return time_of(job, run_by_one == together.strategies.end() ? together.strategies.front() : *run_by_one);
}

// The job with its settings picked, without those strategies of `all` that their pick says are neither the fastest nor
// the fastest that an engine runs. A pick schedules layer passes one by one, which costs strategies that overlap them
// up to 8 %.
Job with_the_fastest(const Job& job, int seeds, const QuietRun& options) {
  constexpr double kMayStillWin = 1.2;
  const SettingTest engines_run = run_by_engines(job);
  Job picked = with_settings_of_seeds(job, seeds, options, engines_run);
  const auto is_run = [&](const ChosenStrategy& c) { return engines_run(c.strategy->name, c.parameters); };
  std::int64_t best_ns = std::numeric_limits<std::int64_t>::max(), best_run_ns = best_ns;
  const auto is_timed = [](const ChosenStrategy& c) { return c.from_all && c.pick && c.pick->settings > 0; };
  for (const ChosenStrategy& c : picked.strategies) {
    if (!is_timed(c)) continue;
    best_ns = std::min(best_ns, c.pick->predicted_ns);
    if (is_run(c)) best_run_ns = std::min(best_run_ns, c.pick->predicted_ns);
  }
  std::erase_if(picked.strategies, [&](const ChosenStrategy& c) {
    const double limit_ns = kMayStillWin * static_cast<double>(is_timed(c) && is_run(c) ? best_run_ns : best_ns);
    return is_timed(c) && static_cast<double>(c.pick->predicted_ns) > limit_ns;
  });
  return picked;
}

// How long picking the settings of all divisions takes, on one core; "": not long.
std::string note_of_picking(const std::map<int, const Job*>& of_ranks, const QuietRun& options) {
  constexpr int kManyRanks = 256;  // fewer take seconds
  const int most = of_ranks.rbegin()->first;
  if (most < kManyRanks) return "";
  const StopScope stops(&options.stop);
  double seconds = 0;
  for (const auto& [ranks, of] : of_ranks) {
    Job job = *of;
    job.mask_cache = options.mask_cache;  // picking takes these masks, too
    const ActivationSource activations(job);
    MaskSource masks(job, activations);
    seconds += picking_seconds(job, sample_requests(job, masks, 1).front());
  }
  return planning_note(of_ranks.size() > 1 ? "picking settings of all divisions" : "picking settings", most, seconds);
}

std::string guidance_text(int at_once) { return at_once == 1 ? "in turn" : fmt::format("{} at once", at_once); }

std::string latency_text(const DivisionTime& time) { return duration_text(static_cast<double>(time.end_to_end_ns)); }

std::string gpus_text(int count) { return count == 1 ? "one GPU" : fmt::format("{} GPUs", count); }

std::string engine_text(const DivisionTime& time) { return time.no_engine ? ", which no engine runs" : ""; }

// "passes in turn on 4 GPUs with ring r4 in 2 replicas"
std::string division_text(const DivisionTime& time) {
  return fmt::format("passes {} on {} with {}{}{}", guidance_text(time.setting.guidance), gpus_text(time.ranks),
                     time.best, time.setting.dp > 1 ? fmt::format(" in {} replicas", time.setting.dp) : "",
                     engine_text(time));
}

}  // namespace

bool Divisions::timed() const {
  return std::ranges::any_of(times, [](const DivisionTime& t) { return t.end_to_end_ns > 0; });
}

Divisions time_divisions(const std::vector<Job>& jobs, int seeds, const QuietRun& options) {
  SPSCOPE_CHECK(!jobs.empty());
  seeds = useful_seeds(jobs.front(), seeds);
  Divisions divisions;
  // Every rank of the cluster works in each division, so plans on as many ranks take as long in all of them.
  std::map<int, const Job*> of_ranks;
  for (const Job& job : jobs) of_ranks.emplace(job.cluster.plan_ranks(), &job);
  if (options.on_warning)
    if (const std::string note = note_of_picking(of_ranks, options); !note.empty()) options.on_warning(note);
  std::vector<int> ranks;
  for (const auto& of : of_ranks) ranks.push_back(of.first);
  const std::vector<Comparison> timed =
      at_once(jobs.front(), ranks.size(), seeds == 1 ? 2 : 1, options, [&](std::size_t i, const QuietRun& as) {
        return run_seeds(with_the_fastest(*of_ranks.at(ranks[i]), seeds, as), seeds, as).together;
      });
  for (const Job& job : jobs) {
    const std::size_t at = divisions.times.size();
    const auto place = std::ranges::find(ranks, job.cluster.plan_ranks()) - ranks.begin();
    divisions.times.push_back(time_of(job, timed[static_cast<std::size_t>(place)]));
    const DivisionTime& now = divisions.times[at];
    const DivisionTime &fastest = divisions.times[divisions.fastest], &most = divisions.times[divisions.most_samples];
    if (now.end_to_end_ns > 0 && (fastest.end_to_end_ns == 0 || now.end_to_end_ns < fastest.end_to_end_ns))
      divisions.fastest = at;
    if (now.samples_per_hour > most.samples_per_hour) divisions.most_samples = at;
  }
  const MachineKind kind = machine_kind(timed.front().workload, timed.front().cluster);
  prefer_run(divisions, ratio_error(kind, jobs.front().cluster.ranks).guidance);
  return divisions;
}

void prefer_run(Divisions& divisions, double error) {
  const DivisionTime fastest = divisions.times[divisions.fastest];
  if (!fastest.no_engine) return;
  const double limit_ns = (1 + error) * static_cast<double>(fastest.end_to_end_ns);
  for (std::size_t i = 0; i < divisions.times.size(); ++i) {
    const DivisionTime &t = divisions.times[i], &best = divisions.times[divisions.fastest];
    const bool close = t.end_to_end_ns > 0 && static_cast<double>(t.end_to_end_ns) <= limit_ns;
    if (close && !t.no_engine && (best.no_engine || t.end_to_end_ns < best.end_to_end_ns)) divisions.fastest = i;
  }
}

void set_time(Divisions& divisions, const Job& job, const StrategyResult& chosen) {
  const auto own = std::ranges::find(divisions.times, setting_of(job), &DivisionTime::setting);
  if (own == divisions.times.end() || own->end_to_end_ns == 0 || !chosen.end_to_end_ns) return;
  *own = time_of(job, chosen);
}

std::string throughput_sentence(const Divisions& divisions, double error) {
  if (!divisions.timed()) return "";
  const DivisionTime &fastest = divisions.times[divisions.fastest], &most = divisions.times[divisions.most_samples];
  const double gain = most.samples_per_hour / fastest.samples_per_hour;
  if (gain <= 1 + error) return "";
  const int gpus = most.ranks * most.setting.guidance;
  const std::string at_once =
      most.setting.guidance > 1 ? fmt::format(" and {} guidance passes at once", most.setting.guidance) : "";
  return fmt::format(
      "For throughput, run {} independent replicas on {} each{}: {:.1f} samples an hour instead of {:.1f}, but each "
      "sample takes {}.",
      most.setting.dp, gpus_text(gpus),
      gpus == 1 ? "" : fmt::format(", with {}{}{}", most.best, at_once, engine_text(most)), most.samples_per_hour,
      fastest.samples_per_hour, duration_text(static_cast<double>(most.end_to_end_ns)));
}

std::string tied_divisions_sentence(const Divisions& divisions, double error) {
  if (!divisions.timed()) return "";
  const DivisionTime& fastest = divisions.times[divisions.fastest];
  std::string names;
  for (const DivisionTime& t : divisions.times) {
    const double longer = static_cast<double>(t.end_to_end_ns) / static_cast<double>(fastest.end_to_end_ns) - 1;
    if (&t == &fastest || t.end_to_end_ns == 0 || longer > error) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : "; ", division_text(t), latency_text(t));
  }
  return names.empty() ? "" : fmt::format("Another division of the GPUs is too close to call: {}.", names);
}

std::string next_division_sentence(const Divisions& divisions) {
  const DivisionTime* next = nullptr;
  for (const DivisionTime& t : divisions.times)
    if (&t != &divisions.times[divisions.fastest] && t.end_to_end_ns > 0 &&
        (next == nullptr || t.end_to_end_ns < next->end_to_end_ns))
      next = &t;
  if (next == nullptr) return "";
  return fmt::format("The next division takes {}: {}.", latency_text(*next), division_text(*next));
}

std::string run_division_sentence(const Divisions& divisions) {
  if (!divisions.timed() || !divisions.times[divisions.fastest].no_engine) return "";
  const DivisionTime* run = nullptr;
  for (const DivisionTime& t : divisions.times)
    if (t.end_to_end_ns > 0 && !t.no_engine && (run == nullptr || t.end_to_end_ns < run->end_to_end_ns)) run = &t;
  return run == nullptr ? ""
                        : fmt::format("Engines run another division of the GPUs: {} ({}).", division_text(*run),
                                      latency_text(*run));
}

std::string other_division_sentence(const Divisions& now, const Divisions& then, const std::string& what_if) {
  if (!now.timed() || !then.timed() || now.fastest == then.fastest) return "";
  const DivisionTime &fastest = then.times[then.fastest], &own = then.times[now.fastest];
  if (fastest.end_to_end_ns >= own.end_to_end_ns) return "";  // its time is that of the strategy to use
  return fmt::format("With {}, another division of the ranks has the least latency: {} ({} instead of {}).", what_if,
                     division_text(fastest), latency_text(fastest), latency_text(own));
}

Table divisions_table(const Divisions& divisions) {
  Table table;
  if (divisions.times.size() < 2 || !divisions.timed()) return table;
  table.caption =
      "Ways to divide the ranks, the chosen one with the strategy to use, each other with the fastest that an engine "
      "runs:";
  table.best_is = "the chosen one";
  table.columns = {{"replicas"},           text_column("guidance"),      {"ranks a pass"},
                   text_column("fastest"), {"end to end", "end_to_end"}, {"samples an hour", "samples_per_hour"}};
  for (std::size_t i = 0; i < divisions.times.size(); ++i) {
    const DivisionTime& t = divisions.times[i];
    const bool known = t.end_to_end_ns > 0;
    const auto if_known = [&](double number) { return known ? std::optional(number) : std::nullopt; };
    table.rows.push_back({{cell(Hint::kCount, t.setting.dp), text_cell(guidance_text(t.setting.guidance)),
                           cell(Hint::kCount, t.ranks), text_cell(known ? t.best : "nothing can run"),
                           cell(Hint::kDuration, if_known(static_cast<double>(t.end_to_end_ns))),
                           text_cell(known ? fmt::format("{:.1f}", t.samples_per_hour) : "")},
                          i == divisions.fastest});
  }
  return table;
}

}  // namespace spscope
