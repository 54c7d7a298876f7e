#include "backend/analysis/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "backend/analysis/comparison.h"
#include "backend/analysis/mask_recipe.h"
#include "backend/analysis/observation.h"
#include "backend/analysis/reason.h"
#include "backend/analysis/run_figures.h"
#include "backend/analysis/run_models.h"
#include "backend/analysis/slowest_pass.h"
#include "backend/base/ids.h"
#include "backend/base/number_text.h"
#include "backend/store/timeline_events.h"

namespace spscope {
namespace {

using Place = std::pair<int, int>;  // layer, denoise step

// Reads what one layer pass of each strategy is explained with.
class Explaining {
 public:
  // `edit`: nothing but what that one needs.
  Explaining(const StoreReader& reader, const WorkloadRecord& workload, const ExplainRequest& request, Place place,
             std::optional<TimeEditKind> edit = std::nullopt)
      : reader_(reader),
        workload_(workload),
        request_(request),
        place_(place),
        edit_(edit),
        cluster_(stored_cluster(workload)) {}

  // How long the layer pass takes in the repeat that is explained; absent when there is no such repeat.
  std::optional<std::int64_t> makespan_ns(const StrategyResult& result) const {
    for (const RunRecord& run : reader_.runs(result.strategy_id)) {
      if (Place(run.layer, run.denoise_step) != place_) continue;
      const auto repeat = repeat_of(reader_.repeats(run.run_id));
      return repeat ? std::optional(repeat->makespan_ns) : std::nullopt;
    }
    return std::nullopt;
  }

  StrategyExplanation strategy(const StrategyResult& result) {
    StrategyExplanation e;
    e.id = result.id;
    e.label = result.label;
    const std::vector<RunRecord> runs = reader_.runs(result.strategy_id);
    const auto run =
        std::ranges::find_if(runs, [&](const RunRecord& r) { return Place(r.layer, r.denoise_step) == place_; });
    if (run == runs.end() || !run->plan_id) return missing(std::move(e), "no plan of it is kept");
    e.provenance = run->provenance;
    StoredRun stored;
    stored.record = *run;
    stored.usage = reader_.usage(run->run_id);
    stored.repeats = reader_.repeats(run->run_id);
    const auto repeat = repeat_of(stored.repeats);
    if (!repeat && request_.repeat) return missing(std::move(e), fmt::format("it has no repeat {}", *request_.repeat));
    if (!repeat) return missing(std::move(e), "no time of it is kept");
    e.makespan_ns = repeat->makespan_ns;
    e.repeat = repeat->repeat;
    std::optional<Timeline> timeline = reader_.timeline(run->run_id, repeat->repeat);
    if (!timeline) return missing(std::move(e), "no timeline of it is kept, or events are missing");
    Plan plan = reader_.plan(*run->plan_id);
    const TimeModels models = models_of(workload_, result, *run, plan.ranks, cluster_);
    add_timeline(stored, plan, *timeline, models);
    const bool scheduled = run->provenance.network == Source::kModelled;
    e.lead_ns = scheduled ? repeat->lead_ns : 0;
    e.zero_ns = makespan_begin_ns(*timeline, run->provenance, *repeat);
    request_.cancelled.require_going();
    if (!edit_) add_path(e, plan, *timeline, models);
    const bool goes_on = scheduled && std::next(run) != runs.end() && std::next(run)->denoise_step == place_.second;
    add_waits(e, stored, goes_on);
    add_stragglers(e, stored, plan);
    e.host_text = host_bound_text(stored.usage, plan.posts.size(), e.makespan_ns);
    if (!edit_) {
      const auto spread_ns = half_interquartile_range(stored.repeats);
      stored.repeats = {*repeat};
      e.result = summarize(result, {&stored, 1});
      e.result.makespan_spread_ns = spread_ns;
    }
    if (request_.edits) add_edits(e, runs, *run, {std::move(plan), *std::move(timeline)});
    return e;
  }

 private:
  std::optional<RepeatRecord> repeat_of(const std::vector<RepeatRecord>& repeats) const {
    if (!request_.repeat) return median_repeat(repeats);
    const auto found = std::ranges::find(repeats, *request_.repeat, &RepeatRecord::repeat);
    return found == repeats.end() ? std::nullopt : std::optional(*found);
  }

  static StrategyExplanation missing(StrategyExplanation e, std::string why) {
    e.missing = std::move(why);
    e.edits_missing = e.missing;
    return e;
  }

  void add_path(StrategyExplanation& e, const Plan& plan, const Timeline& timeline, const TimeModels& models) {
    constexpr std::size_t kMostSteps = 8;
    const bool scheduled = e.provenance.network == Source::kModelled;
    const Network* network = models.network ? &*models.network : nullptr;
    e.path = critical_path(plan, timeline, scheduled ? 0 : INT64_MAX, network);
    const std::int64_t from_ns = scheduled ? e.lead_ns : INT64_MIN;
    e.path_terms = path_terms(plan, timeline, e.path, models, from_ns);
    const HostTimes host = models.cost ? host_times(plan, *models.cost) : HostTimes{};
    // A pass after others starts when they let it, which the issue times of this pass alone do not say.
    e.slack_ns =
        op_slack(plan, timeline,
                 e.lead_ns == 0 && !host.issue_ns.empty() ? host.issue_ns : std::span<const std::int64_t>(), network);
    std::map<int, std::int64_t> visits;
    for (const PathStep& step : e.path.steps) {
      if (step.end_ns > from_ns) visits[step.rank] += step.end_ns - std::max(step.begin_ns, from_ns);
      if (step.ns() == 0) continue;
      NamedStep named{step, op_name(plan, plan.ops[at(step.op)]), {}};
      if (step.after != kNone) named.after_rank = plan.ops[at(step.after)].rank;
      e.top_steps.push_back(std::move(named));
    }
    std::ranges::stable_sort(e.top_steps, std::greater(), &PathStep::ns);
    if (e.top_steps.size() > kMostSteps) e.top_steps.resize(kMostSteps);
    for (const auto& [rank, ns] : visits) e.path_visits.push_back({rank, ns});
    std::ranges::stable_sort(e.path_visits, std::greater(), &PathVisit::ns);
  }

  static void add_waits(StrategyExplanation& e, const StoredRun& stored, bool goes_on) {
    const TimeDetail detail = joined_detail({&stored.detail, 1});
    e.mean_terms = mean_terms(detail.rank_sums, static_cast<int>(stored.times.compute_ns.size()));
    e.waits = joined_waits(stored.detail.waits);
    e.wait_late_peer_ns = stored.times.wait_late_peer_ns;
    if (goes_on) return;
    for (const RankWait& wait : detail.waits)
      if (wait.collective == "end") e.end_waits.push_back(wait);
  }

  void add_stragglers(StrategyExplanation& e, const StoredRun& stored, const Plan& plan) {
    std::vector<double> tiles;
    for (const RankUsage& rank : stored.usage) tiles.push_back(rank.tiles);
    tiles.resize(stored.times.compute_ns.size(), 0);
    std::vector<RankWait> waits = e.waits;
    waits.insert(waits.end(), e.end_waits.begin(), e.end_waits.end());
    e.stragglers = stragglers({stored.times.compute_ns, stored.attention_ns, tiles}, waits);
    if (edit_) return;
    for (Straggler& s : e.stragglers) {
      s.heads = stored.heads_by_rank[at(s.rank)];
      if (s.heads.empty()) continue;
      const std::vector<double>& densities = head_densities();
      if (densities.empty()) continue;
      double sum = 0, all = 0;
      int count = 0;
      const std::vector<bool> has = heads_of(plan, s.rank);
      for (std::size_t h = 0; h < densities.size(); ++h) {
        all += densities[h];
        if (h < has.size() && has[h]) sum += densities[h], ++count;
      }
      if (count > 0) s.density = sum / count;
      s.mean_density = all / static_cast<double>(densities.size());
    }
  }

  static std::vector<bool> heads_of(const Plan& plan, int rank) {
    std::vector<bool> has(at(plan.num_columns[static_cast<int>(Axis::kHeads)]));
    for (const Op& op : plan.ops)
      if (op.rank == rank && plan.kind_of(op) == PostKind::kAttend)
        for (const Span& span : plan.sets->spans(op.heads))
          for (std::int32_t h = span.begin; h < span.end; ++h) has[at(h)] = true;
    return has;
  }

  // Of the mask of this layer pass, read or made once; empty when the file has none.
  const std::vector<double>& head_densities() {
    if (densities_) return *densities_;
    densities_.emplace();
    const std::optional<BlockMask> mask =
        stored_mask(reader_, workload_.workload_id, place_.first, place_.second, AttendedAxis::kInner);
    if (!mask) return *densities_;
    const double pairs = static_cast<double>(mask->tokens()) * mask->tokens();
    for (int h = 0; h < mask->heads(); ++h) densities_->push_back(static_cast<double>(mask->head_area(h)) / pairs);
    return *densities_;
  }

  // The passes that are one schedule with that of `run`: those of its denoise step, or of executed ones itself alone.
  void add_edits(StrategyExplanation& e, const std::vector<RunRecord>& runs, const RunRecord& run,
                 EditablePasses::Pass own_pass) {
    constexpr std::size_t kMostOps = 4'000'000;  // of a denoise step; more take minutes and gigabytes
    if (!cluster_) return e.edits_missing = "the file does not hold the numbers of its cluster", void();
    if (!joins_nodes(*cluster_, own_pass.plan.ranks, workload_.gpus_per_node))
      return e.edits_missing = "the file holds no network between the nodes of its ranks", void();
    EditablePasses stored;
    stored.cluster = *cluster_;
    stored.gpus_per_node = workload_.gpus_per_node;
    stored.ranks_in_use = own_pass.plan.ranks * workload_.guidance * workload_.data_parallel;
    stored.hosts = run.provenance.compute == Source::kModelled;
    std::size_t own = 0, ops = 0;
    for (const RunRecord& other : runs) {
      const bool same = other.run_id == run.run_id;
      const bool together =
          run.provenance.network == Source::kModelled && other.finished && other.denoise_step == run.denoise_step;
      if (!same && !together) continue;
      std::optional<Timeline> timeline;
      if (same)
        timeline = std::move(own_pass.timeline);
      else if (other.plan_id)
        timeline = reader_.timeline(other.run_id, e.repeat);
      if (!timeline) return e.edits_missing = "a layer pass of its denoise step has no timeline", void();
      if (same) own = stored.passes.size();
      ops += timeline->ops.size();
      if (ops > kMostOps) return e.edits_missing = "its denoise step has too many operations", void();
      stored.passes.push_back({same ? std::move(own_pass.plan) : reader_.plan(*other.plan_id), *std::move(timeline)});
    }
    e.all_edits = edits_of(e, stored);
    const auto probe = std::make_shared<const Probe>(std::move(stored), own);
    const Rescheduler& rescheduler = probe->rescheduler();
    if (run.provenance.network == Source::kModelled) e.result.probes = {probe};
    for (const TimeEdit& edit : e.all_edits) {
      if (edit_ && edit.kind != TimeEditKind::kNone && edit.kind != edit_) continue;
      request_.cancelled.require_going();
      ScheduledPasses scheduled = rescheduler.run(edit, &request_.cancelled);
      ScheduledPass& of_edit = scheduled.passes[own];
      EditResult result{edit, of_edit.makespan_ns, 0, 0, {}, of_edit.lead_ns};
      if (edit_) result.timeline = std::move(of_edit.timeline);
      for (const ScheduledPass& pass : scheduled.passes) result.step_makespan_ns += pass.makespan_ns;
      if (!e.edits.empty()) result.change_ns = result.makespan_ns - e.edits.front().makespan_ns;
      e.edits.push_back(std::move(result));
    }
  }

  std::vector<TimeEdit> edits_of(const StrategyExplanation& e, const EditablePasses& stored) const {
    std::vector<TimeEdit> edits = {{TimeEditKind::kNone}};
    if (stored.passes.front().plan.ranks < 2) return edits;
    edits.push_back({TimeEditKind::kEvenlySpread});
    if (!e.stragglers.empty()) edits.push_back({TimeEditKind::kRankAsMean, e.stragglers.front().rank});
    edits.push_back({TimeEditKind::kFasterLinks});
    if (workload_.nodes > 1) edits.push_back({TimeEditKind::kFasterNics});
    edits.push_back({TimeEditKind::kNoLatency});
    return edits;
  }

  const StoreReader& reader_;
  const WorkloadRecord& workload_;
  const ExplainRequest& request_;
  Place place_;
  std::optional<TimeEditKind> edit_;
  std::optional<ClusterPreset> cluster_;
  std::optional<std::vector<double>> densities_;
};

bool is_called(const StrategyResult& s, const std::string& text) {
  return s.id == text || s.name == text || s.label == text;
}

// The slowest of those that the request allows.
Place chosen_place(const std::vector<const StrategyResult*>& strategies, const ExplainRequest& request) {
  if (const auto slowest = slowest_pass(strategies, {request.layer, request.denoise_step}))
    return {slowest->layer, slowest->denoise_step};
  const LayerResult& first = strategies.front()->by_layer.front();
  throw Error(ErrorCode::kUsage,
              fmt::format("the file has no layer pass{}{} that every strategy finished",
                          request.layer ? fmt::format(" of layer {}", *request.layer) : "",
                          request.denoise_step ? fmt::format(" of denoise step {}", *request.denoise_step) : ""),
              fmt::format("there is layer {} of denoise step {}; without --layer and --step the slowest is explained",
                          first.layer, first.denoise_step));
}

// Strategies of a mode that have layer passes with times.
std::vector<const StrategyResult*> timed(const ModeGroup& group) {
  std::vector<const StrategyResult*> list;
  for (const StrategyResult* s : group.strategies)
    if (s->makespan_ns && !s->by_layer.empty()) list.push_back(s);
  return list;
}

// What is explained of a file: the first workload that has times, and of it the first mode.
struct ExplainedMode {
  WorkloadRecord workload;
  ModeGroup group;
  std::vector<const StrategyResult*> strategies;
};
ExplainedMode explained_mode(const StoreReader& reader, std::span<const Comparison> comparisons) {
  const std::vector<WorkloadRecord> workloads = reader.workloads();
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    for (ModeGroup& group : by_mode(comparisons[i]))
      if (std::vector<const StrategyResult*> strategies = timed(group); !strategies.empty())
        return {workloads[i], std::move(group), std::move(strategies)};
  require_strategies(reader, "explain");
  throw Error(ErrorCode::kStoreCorrupt,
              fmt::format("\"{}\" holds no layer pass that every strategy finished, so there is nothing to explain",
                          reader.path()),
              "spscope doctor lists what is missing; spscope sql answers questions about events");
}

// The fastest in this layer pass of those whose times compare; nullptr when they do not.
const StrategyResult* fastest_at(const Judgement& judgement, const Explaining& explaining) {
  const StrategyResult* fastest = nullptr;
  if (judgement.lead == Lead::kUnknown) return fastest;
  std::int64_t least_ns = INT64_MAX;
  for (const StrategyResult* s : judgement.ranked) {
    const auto ns = explaining.makespan_ns(*s);
    if (!ns || (fastest != nullptr && *ns >= least_ns)) continue;
    fastest = s;
    least_ns = *ns;
  }
  return fastest;
}

void add_reasons(Explanation& explanation, Judgement judgement) {
  const auto fastest = std::ranges::find(explanation.strategies, explanation.fastest, &StrategyExplanation::id);
  if (fastest == explanation.strategies.end() || !fastest->missing.empty()) return;
  const std::vector<const StrategyResult*> compared = std::move(judgement.ranked);
  judgement.ranked = {&fastest->result};
  Without of_fastest(fastest->result.probes);
  for (StrategyExplanation& e : explanation.strategies) {
    const bool compares = std::ranges::any_of(compared, [&](const StrategyResult* s) { return s->id == e.id; });
    if (!e.missing.empty() || !compares || &e == &*fastest || !judgement.slower(e.result)) continue;
    Without of_e(e.result.probes);
    if (auto found = attribute(e.result, fastest->result, of_e, of_fastest))
      e.result.attributions = {*std::move(found)};
    e.reason = reason_for(e.result, fastest->result);
    if (!e.reason) continue;
    e.more_on_path = e.path_terms - fastest->path_terms;
    e.reason_text = reason_text(*e.reason, e.result, fastest->result);
  }
}

}  // namespace

std::string host_bound_text(std::span<const RankUsage> ranks, std::size_t num_posts, std::int64_t makespan_ns) {
  constexpr double kOfMakespan = 0.9;
  // A queue of a GPU holds about a thousand pieces of work, and a post is a handful: with more posts the host may have
  // waited for the GPU.
  constexpr std::size_t kMostPosts = 200;
  const auto slowest = std::ranges::max_element(ranks, {}, &RankUsage::host_post_ns);
  if (slowest == ranks.end() || !slowest->host_post_ns || num_posts > kMostPosts) return "";
  const auto post_ns = static_cast<double>(*slowest->host_post_ns), host_ns = post_ns * static_cast<double>(num_posts);
  if (host_ns < kOfMakespan * static_cast<double>(makespan_ns)) return "";
  return fmt::format(
      "The host is the bottleneck: it takes {} to post the work of rank {}, {} for each of {} posts, and the layer "
      "pass takes {}.",
      duration_text(host_ns), slowest->rank, duration_text(post_ns), num_posts,
      duration_text(static_cast<double>(makespan_ns)));
}

std::string unchanged_text(const StrategyExplanation& explanation) {
  if (explanation.edits.empty() || explanation.edits.front().makespan_ns == explanation.makespan_ns) return "";
  const bool measured = explanation.provenance.network == Source::kMeasured;
  return fmt::format("With nothing changed, the model takes {} where {} {}. Compare the edits with the {}.",
                     duration_text(static_cast<double>(explanation.edits.front().makespan_ns)),
                     duration_text(static_cast<double>(explanation.makespan_ns)),
                     measured ? "were measured" : "are stored, of passes that were not one schedule",
                     duration_text(static_cast<double>(explanation.edits.front().makespan_ns)));
}

Explanation explain(const StoreReader& reader, const ExplainRequest& request) {
  return explain(reader, compare_store(reader), request);
}

Explanation explain(const StoreReader& reader, std::span<const Comparison> comparisons, const ExplainRequest& request) {
  const ExplainedMode of = explained_mode(reader, comparisons);
  for (const std::string& name : request.strategies) {
    if (std::ranges::any_of(of.strategies, [&](const StrategyResult* s) { return is_called(*s, name); })) continue;
    std::vector<std::string> ids;
    for (const StrategyResult* s : of.strategies) ids.push_back(s->id);
    throw Error(ErrorCode::kUsage, fmt::format("the file has no times of a strategy \"{}\"", name),
                fmt::format("it has {}", fmt::join(ids, ", ")));
  }
  const Judgement judgement = judge(of.group);
  const Place place = chosen_place(of.strategies, request);
  Explanation explanation;
  explanation.comparison = *of.group.of;
  explanation.mode = of.group.mode;
  std::tie(explanation.layer, explanation.denoise_step) = place;
  Explaining explaining(reader, of.workload, request, place);
  const StrategyResult* fastest = fastest_at(judgement, explaining);
  explanation.fastest = fastest != nullptr ? fastest->id : "";
  const auto wanted = [&](const StrategyResult& s) {
    return request.strategies.empty() ||
           std::ranges::any_of(request.strategies, [&](const std::string& name) { return is_called(s, name); });
  };
  for (const StrategyResult* s : of.strategies)
    if (wanted(*s) || s == fastest) explanation.strategies.push_back(explaining.strategy(*s));
  if (fastest != nullptr) std::ranges::stable_sort(explanation.strategies, {}, &StrategyExplanation::makespan_ns);
  add_reasons(explanation, judgement);
  for (StrategyExplanation& e : explanation.strategies) e.result.probes.clear();  // plans of a whole denoise step
  return explanation;
}

std::optional<StrategyExplanation> explain_edit(const StoreReader& reader, std::span<const Comparison> comparisons,
                                                const ExplainRequest& request, TimeEditKind edit) {
  const ExplainedMode of = explained_mode(reader, comparisons);
  if (request.strategies.empty()) return std::nullopt;
  const auto found = std::ranges::find(of.strategies, request.strategies.front(), &StrategyResult::id);
  if (found == of.strategies.end()) return std::nullopt;
  return Explaining(reader, of.workload, request, chosen_place(of.strategies, request), edit).strategy(**found);
}

}  // namespace spscope
