#include "backend/job/pick_settings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "backend/base/result.h"
#include "backend/base/stop_point.h"
#include "backend/job/layer_request.h"
#include "backend/job/plan_size.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/memory_need.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// One setting of a strategy while settings are compared.
struct Setting {
  Parameters parameters;
  Degrees degrees;            // on the first sample
  std::int64_t first_ns = 0;  // on the first sample; of one that was ruled out there, what it takes at least
  std::int64_t total_ns = 0;  // over all samples
  bool in_race = false;
  std::vector<Decision> decisions;  // by sample, while it is in the race
};

// The legal candidates, with what the config gives for this strategy in place of their own values; each once.
std::vector<Parameters> settings_of(const Job& job, const ChosenStrategy& chosen, const Request& request) {
  const auto given = job.config.strategy_parameters.find(chosen.strategy->name);
  std::vector<Parameters> settings;
  for (Parameters& setting : chosen.strategy->candidates(request)) {
    if (given != job.config.strategy_parameters.end())
      for (const auto& [name, text] : given->second) setting.set(name, chosen.parameters.values().find(name)->second);
    if (job.may_pick && !job.may_pick(chosen.strategy->name, setting)) continue;
    if (std::ranges::find(settings, setting) == settings.end() && chosen.strategy->legal(request, setting).empty())
      settings.push_back(std::move(setting));
  }
  return settings;
}

// The compute of the rank that has most of it: no schedule of the plan ends before.
std::int64_t longest_compute_ns(const Plan& plan, std::span<const std::int64_t> durations) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(plan.ranks), 0);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) ranks[static_cast<std::size_t>(plan.ops[i].rank)] += durations[i];
  return *std::ranges::max_element(ranks);
}

std::int64_t scheduled_ns(const Job& job, const Plan& plan, std::span<const std::int64_t> durations) {
  const Cluster& cluster = job.cluster;
  const Network network = Network::of_cluster(cluster.preset, plan.ranks, cluster.gpus_per_node, cluster.ranks);
  return schedule(plan, durations, network, host_times(plan, cluster.preset.cost).issue_ns).makespan_ns();
}

class Race {
 public:
  Race(const Job& job, const Strategy& strategy, std::span<const Request> samples)
      : job_(job), strategy_(strategy), samples_(samples) {}

  // Settings by time, the fastest first, without those that are the same plans as another or have none.
  std::vector<Setting> run(std::vector<Parameters> parameters, const std::atomic<bool>* interrupt) {
    std::vector<Setting> settings;
    for (Parameters& p : parameters) {
      if (interrupt != nullptr && interrupt->load() && !settings.empty()) break;
      if (std::optional<Setting> setting = enter(std::move(p))) settings.push_back(std::move(*setting));
    }
    const double limit = kWorthASecondLook * static_cast<double>(best_ns_);
    for (Setting& s : settings) s.in_race = s.in_race && static_cast<double>(s.first_ns) <= limit;
    for (const Request& sample : samples_.subspan(1)) {
      std::vector<std::pair<Setting*, std::int64_t>> looked_at;
      for (Setting& s : settings)
        if (s.in_race) look_again(s, sample, looked_at);
    }
    erase_equal(settings);
    std::ranges::stable_sort(settings, [](const Setting& a, const Setting& b) {
      return std::pair(!a.in_race, a.total_ns) < std::pair(!b.in_race, b.total_ns);
    });
    return settings;
  }

 private:
  // The plan of a setting on a request; nothing when no machine can hold it or it is refused otherwise.
  Result<Plan> plan_of(const Request& request, const Parameters& parameters, const Decision& decision) const {
    return capture([&] {
      require_room_for_plan(std::string(strategy_.name), decision, request);
      return make_plan(strategy_, request, parameters, decision);
    });
  }

  // Whether ranks hold what the plan needs. Of settings that do not the run says why, where all are such.
  bool fits(const Plan& plan) const {
    const ClusterPreset& cluster = job_.cluster.preset;
    return cluster.device.memory_gib == 0 ||
           memory_need(plan, job_.model, job_.config.run, cluster, job_.plans_at_once()).fits();
  }

  // Whether two settings of one strategy have one plan wherever their decisions are equal: they differ only in what
  // acts by a decision. A token order and the algorithm of a gather do not.
  static bool decide_alike(const Parameters& a, const Parameters& b) {
    constexpr std::string_view kDecides[] = {"ulysses", "ring",   "ranks",         "heads",
                                             "reward",  "refine", "exchange_cost", "threshold"};
    return std::ranges::all_of(a.values(), [&](const auto& entry) {
      return std::ranges::find(kDecides, entry.first) != std::end(kDecides) ||
             entry.second == b.values().find(entry.first)->second;
    });
  }
  static bool gives_degrees(const Setting& s) {
    return (s.parameters.has("ulysses") && s.parameters.integer("ulysses") > 0) ||
           (s.parameters.has("ring") && s.parameters.integer("ring") > 0);
  }

  // Of settings that decide alike on every sample the first one that gives its degrees stays, else the first: one that
  // chooses them anew may choose others on the layers that are not samples.
  static void erase_equal(std::vector<Setting>& settings) {
    std::vector<Setting> kept;
    for (Setting& s : settings) {
      const auto same = std::ranges::find_if(kept, [&](const Setting& other) {
        return decide_alike(s.parameters, other.parameters) && s.in_race == other.in_race &&
               s.decisions == other.decisions;
      });
      if (same == kept.end())
        kept.push_back(std::move(s));
      else if (gives_degrees(s) && !gives_degrees(*same))
        *same = std::move(s);
    }
    settings = std::move(kept);
  }

  // On the first sample.
  std::optional<Setting> enter(Parameters parameters) {
    stop_point();  // plan_of() catches those of making a plan
    const Request& request = samples_.front();
    const Decision decision = strategy_.decide(request, parameters);
    const auto same = std::ranges::find_if(entered_, [&](const Setting& s) {
      return decide_alike(parameters, s.parameters) && s.decisions.front() == decision;
    });
    if (same != entered_.end()) {
      Setting setting = *same;
      setting.parameters = std::move(parameters);
      return setting;
    }
    const Result<Plan> plan = plan_of(request, parameters, decision);
    if (!plan || !fits(*plan)) return std::nullopt;
    Setting setting{std::move(parameters), {decision.ulysses, decision.ring}, 0, 0, false, {decision}};
    const std::vector<std::int64_t> durations = op_durations(*plan, job_.cluster.preset.cost);
    setting.first_ns = longest_compute_ns(*plan, durations);
    if (best_ns_ == kForever ||
        static_cast<double>(setting.first_ns) <= kWorthASecondLook * static_cast<double>(best_ns_)) {
      setting.first_ns = scheduled_ns(job_, *plan, durations);
      setting.in_race = true;
      best_ns_ = std::min(best_ns_, setting.first_ns);
    }
    setting.total_ns = setting.first_ns;
    entered_.push_back(setting);
    return setting;
  }

  // `looked_at`: settings with their times on this sample.
  void look_again(Setting& setting, const Request& sample,
                  std::vector<std::pair<Setting*, std::int64_t>>& looked_at) const {
    stop_point();
    setting.decisions.push_back(strategy_.decide(sample, setting.parameters));
    const auto same = std::ranges::find_if(looked_at, [&](const auto& other) {
      return decide_alike(setting.parameters, other.first->parameters) &&
             other.first->decisions.back() == setting.decisions.back();
    });
    if (same != looked_at.end()) {
      setting.total_ns += same->second;
      return;
    }
    const Result<Plan> plan = plan_of(sample, setting.parameters, setting.decisions.back());
    setting.in_race = plan.has_value();
    if (!plan) return;
    const std::int64_t ns = scheduled_ns(job_, *plan);
    setting.total_ns += ns;
    looked_at.emplace_back(&setting, ns);
  }

  const Job& job_;
  const Strategy& strategy_;
  std::span<const Request> samples_;
  std::vector<Setting> entered_;
  std::int64_t best_ns_ = kForever;  // on the first sample
};

std::string label_of(const Strategy& strategy, const Setting& setting) {
  return strategy_label(strategy, std::span(&setting.degrees, 1), setting.parameters);
}

// Sets parameters and pick. False: the strategy has nothing of its own on so many ranks.
bool pick_setting(const Job& job, std::span<const Request> samples, const std::atomic<bool>* interrupt,
                  ChosenStrategy& chosen) {
  chosen.pick.emplace();
  const Strategy& strategy = *chosen.strategy;
  std::vector<Parameters> candidates = settings_of(job, chosen, samples.front());
  if (candidates.empty()) return !strategy.legal(samples.front(), chosen.parameters).empty();
  const std::vector<Setting> settings = Race(job, strategy, samples).run(std::move(candidates), interrupt);
  // Of plans that are refused the run says why.
  if (settings.empty() || !settings.front().in_race) return true;
  const auto mean = [&](const Setting& s) { return s.total_ns / static_cast<std::int64_t>(samples.size()); };
  chosen.parameters = settings.front().parameters;
  chosen.pick->settings = static_cast<int>(settings.size());
  chosen.pick->predicted_ns = mean(settings.front());
  if (settings.size() > 1 && settings[1].in_race) {
    chosen.pick->next_label = label_of(strategy, settings[1]);
    chosen.pick->next_ns = mean(settings[1]);
  }
  return true;
}

}  // namespace

std::int64_t scheduled_ns(const Job& job, const Plan& plan) {
  return scheduled_ns(job, plan, op_durations(plan, job.cluster.preset.cost));
}

double picking_seconds(const Job& job, const Request& sample) {
  double seconds = 0;
  for (const ChosenStrategy& c : job.strategies)
    if (c.unpicked())
      for (const Parameters& parameters : settings_of(job, c, sample)) {
        stop_point();
        seconds += plan_size(c.strategy->decide(sample, parameters), sample).seconds;
      }
  return seconds;
}

bool has_unpicked(const Job& job) { return std::ranges::any_of(job.strategies, &ChosenStrategy::unpicked); }

std::vector<ChosenStrategy> pick_settings(const Job& job, std::span<const Request> samples,
                                          const PickOptions& options) {
  constexpr int kManyRanks = 256;  // fewer take seconds
  if (options.on_note && samples.front().ranks >= kManyRanks)
    if (const std::string note =
            planning_note("picking settings", samples.front().ranks, picking_seconds(job, samples.front()));
        !note.empty())
      options.on_note(note);
  std::vector<ChosenStrategy> chosen = job.strategies;
  std::erase_if(chosen, [&](ChosenStrategy& c) {
    if (!c.unpicked()) return false;
    if (options.on_strategy) options.on_strategy(c.strategy->name);
    return !pick_setting(job, samples, options.interrupt, c);
  });
  std::vector<ChosenStrategy> named = chosen;
  std::erase_if(named, [](const ChosenStrategy& c) { return c.from_all; });
  std::erase_if(chosen, [&](const ChosenStrategy& c) {
    return c.from_all && std::ranges::any_of(named, [&](const ChosenStrategy& other) {
             return other.strategy == c.strategy && other.parameters == c.parameters;
           });
  });
  give_ids(chosen);
  return chosen;
}

std::vector<Request> sample_requests(const Job& job, MaskSource& masks, int most) {
  const auto layers = static_cast<std::int64_t>(job.layers.size());
  const int count = static_cast<int>(std::min<std::int64_t>(layers, most));
  std::vector<int> sampled;
  for (int i = 0; i < count; ++i)  // the middles of equal parts
    sampled.push_back(job.layers[static_cast<std::size_t>((2 * i + 1) * layers / (2 * std::int64_t{count}))]);
  masks.keep_all(0, sampled);
  std::vector<Request> samples;
  for (const int layer : sampled) {
    const LayerMasks& kept = masks.keep(0, layer);
    samples.push_back(make_layer_request(job, layer, kept, &kept));
  }
  return samples;
}

Job with_picked_settings(const Job& job, MaskSource& masks, const PickOptions& options) {
  Job picked = job;
  if (!has_unpicked(job)) return picked;
  // Where times are modelled, on all layers of a usual run: settings that choose degrees by layer differ from each
  // other.
  const int most = job.config.run.mode == RunMode::kSimulate ? kMostSamples : 3;
  picked.strategies = pick_settings(job, sample_requests(job, masks, most), options);
  return picked;
}

}  // namespace spscope
