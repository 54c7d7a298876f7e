#include "backend/job/progress_count.h"

#include <algorithm>

namespace spscope {

ProgressCount::ProgressCount(std::function<void(const RunProgress&)> say, const Job& job, int shards,
                             std::function<std::int64_t()> clock)
    : say_(std::move(say)),
      clock_(std::move(clock)),
      layer_passes_(static_cast<int>(job.layers.size()) * job.config.run.denoise_steps),
      layers_(job.layers),
      begin_ns_(clock_()),
      plans_(job.strategies.size()),
      mark_ns_(begin_ns_) {
  const RunSection& run = job.config.run;
  progress_.strategies = static_cast<int>(job.strategies.size());
  progress_.layers = static_cast<int>(job.layers.size());
  progress_.denoise_steps = run.denoise_steps;
  progress_.total = progress_.strategies * layer_passes_;
  progress_.shards = shards;
  if (run.mode == RunMode::kExecute) progress_.warmups = run.warmup, progress_.repeats = run.repeats;
  if (run.mode == RunMode::kProject) progress_.ranks_to_measure = job.cluster.plan_ranks();
}

void ProgressCount::say_masks(int denoise_step, int layer) {
  const auto place = std::ranges::find(layers_, layer);
  progress_.layer = place != layers_.end() ? static_cast<int>(place - layers_.begin()) : layer;
  progress_.denoise_step = denoise_step;
  say("input");
}

void ProgressCount::begin_layer(int denoise_step, int layer) {
  is_before_ = true;
  say_masks(denoise_step, layer);
}

void ProgressCount::say(const char* phase) {
  progress_.phase = phase;
  progress_.strategy = progress_.label = "";
  progress_.strategy_number = 0;
  say_passes(0, 0);
}

void ProgressCount::say(const char* phase, int strategy, const std::string& id, const std::string& label) {
  const std::int64_t now = clock_();
  if (progress_.strategy_number == 0) {
    before_plans_.ns += now - mark_ns_;
    before_plans_.count += is_before_ ? 1 : 0;
    is_before_ = false;
    mark_ns_ = now;
  }
  const bool is_next = progress_.strategy_number != strategy + 1;
  progress_.phase = phase;
  progress_.strategy = id;
  progress_.label = label;
  progress_.strategy_number = strategy + 1;
  if (progress_.phase == "run") run_ns_ = now;
  is_next ? say_passes(0, 0) : tell();
}

void ProgressCount::say_planning(const Job& job, int strategy) {
  const ChosenStrategy& chosen = job.strategies[static_cast<std::size_t>(strategy)];
  say("plan", strategy, chosen.id, std::string(chosen.strategy->name));
}

void ProgressCount::say_passes(int done, int total) {
  passes_done_ = done;
  passes_ = total;
  is_alike_ |= total > 0;
  if (progress_.ranks_to_measure > 0) {
    progress_.ranks_measured = done;
  } else {
    progress_.warmups_done = std::min(done, progress_.warmups);
    progress_.repeat = std::clamp(done - progress_.warmups, 0, progress_.repeats);
  }
  tell();
}

void ProgressCount::end_plan(int strategy, bool legal) {
  Spent& spent = plans_[static_cast<std::size_t>(strategy)];
  const std::int64_t now = clock_();
  ++progress_.done;
  spent.legal = legal;
  if (!legal) return;
  ++spent.count;
  spent.ns += now - mark_ns_;
  mark_ns_ = now;
}

void ProgressCount::set_cause(const std::string& cause) {
  if (!progress_.cause.empty()) return;
  progress_.cause = cause;
  tell();
}

void ProgressCount::tell() {
  if (!say_) return;
  progress_.said_ns = clock_();
  progress_.elapsed_s = static_cast<double>(progress_.said_ns - begin_ns_) * 1e-9;
  const std::optional<double> left = eta_ns(progress_.said_ns);
  progress_.eta_s = left ? std::optional(*left * 1e-9) : std::nullopt;
  say_(progress_);
}

std::optional<double> ProgressCount::this_plan_ns(std::int64_t now) const {
  if (progress_.strategy_number == 0 || passes_done_ == 0) return std::nullopt;
  const double of_pass = static_cast<double>(now - run_ns_) / passes_done_;
  return static_cast<double>(run_ns_ - mark_ns_) + of_pass * passes_;
}

std::optional<double> ProgressCount::plan_ns(std::size_t i, std::int64_t now) const {
  if (plans_[i].count > 0) return static_cast<double>(plans_[i].ns) / plans_[i].count;
  const std::optional<double> current = this_plan_ns(now);
  if (current && progress_.strategy_number == static_cast<int>(i) + 1) return current;
  Spent all;
  for (const Spent& spent : plans_) all.ns += spent.ns, all.count += spent.count;
  if (all.count == 0) return current;
  return is_alike_ ? std::optional(static_cast<double>(all.ns) / all.count) : std::nullopt;
}

std::optional<double> ProgressCount::eta_ns(std::int64_t now) const {
  double left = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (!plans_[i].legal) continue;
    const std::optional<double> one = plan_ns(i, now);
    if (!one) return std::nullopt;
    left += *one * (layer_passes_ - plans_[i].count);
  }
  const int began = before_plans_.count;
  const double before_plans = began > 0 ? static_cast<double>(before_plans_.ns) / began : 0;
  left += before_plans * (layer_passes_ - began);
  // Of what goes on now a part is over.
  const int number = progress_.strategy_number;
  const double current = number == 0 ? before_plans : plan_ns(static_cast<std::size_t>(number - 1), now).value_or(0);
  const auto spent = static_cast<double>(now - mark_ns_);
  const bool is_first = number > 0 && plans_[static_cast<std::size_t>(number - 1)].count == 0;
  if (is_first && spent > current && progress_.done < progress_.total)
    return std::nullopt;  // it is not as the others were
  return std::max(0.0, left - std::min(spent, current));
}

}  // namespace spscope
