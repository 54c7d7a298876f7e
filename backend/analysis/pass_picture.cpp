// Spans by a sweep over the borders of what every op took, thumbnails as they are stored.
#include "backend/analysis/pass_picture.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "backend/analysis/head_rows.h"
#include "backend/analysis/run_figures.h"
#include "backend/analysis/slowest_pass.h"

namespace spscope {
namespace {

constexpr int kMostRanks = 64, kMostSteps = 8;
constexpr std::size_t kMostOwners = 12;  // strategies
constexpr std::int64_t kMostSpans = 500;

// A border of an interval: from here on `column` is active by `change` more.
struct Border {
  std::int64_t at_ns = 0;
  TimeColumn column = TimeColumn::kOther;
  int change = 0;
};

// Of what is active at one time, what counts: as in rank_times.h.
TimeColumn counted(const std::array<int, kNumTimeColumns>& active) {
  for (const TimeColumn column : {TimeColumn::kCompute, TimeColumn::kWire, TimeColumn::kLatePeer})
    if (active[static_cast<std::size_t>(column)] > 0) return column;
  return TimeColumn::kOther;
}

std::vector<ActivitySpan> spans_of(std::vector<Border> borders, std::int64_t makespan_ns) {
  std::ranges::sort(borders, {}, &Border::at_ns);
  borders.push_back({makespan_ns, TimeColumn::kOther, 0});
  std::vector<ActivitySpan> spans;
  std::array<int, kNumTimeColumns> active = {};
  std::int64_t now_ns = 0;
  for (const Border& border : borders) {
    if (border.at_ns > now_ns) {
      const TimeColumn column = counted(active);
      if (!spans.empty() && spans.back().column == column)
        spans.back().end_ns = border.at_ns;
      else
        spans.push_back({now_ns, border.at_ns, column});
      now_ns = border.at_ns;
    }
    active[static_cast<std::size_t>(border.column)] += border.change;
  }
  return spans;
}

// All, or every so many of them and `always`.
std::set<int> some_of(int count, int most, int always) {
  std::set<int> chosen;
  if (count <= most) most = count;
  for (int i = 0; i < most; ++i) chosen.insert(static_cast<int>(std::int64_t{i} * count / most));
  if (!chosen.contains(always) && always < count) {
    chosen.erase(std::prev(chosen.upper_bound(always)));
    chosen.insert(always);
  }
  return chosen;
}

std::optional<StrategyBand> band_of(const StoreReader& reader, const StrategyResult& strategy,
                                    const PassPicture& picture) {
  for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
    if (run.layer != picture.layer || run.denoise_step != picture.denoise_step || !run.plan_id) continue;
    const auto repeat = median_repeat(reader.repeats(run.run_id));
    const auto timeline = repeat ? reader.timeline(run.run_id, repeat->repeat) : std::nullopt;
    if (!timeline || timeline->ops.empty()) return std::nullopt;
    const Plan plan = reader.plan(*run.plan_id);
    const std::vector<std::vector<ActivitySpan>> all = activities(plan, *timeline);
    const std::int64_t first_ns = std::ranges::min_element(timeline->ops, {}, &OpTimes::post_ns)->post_ns;
    const std::int64_t from_ns = first_ns - makespan_begin_ns(*timeline, run.provenance, *repeat);
    StrategyBand band{strategy.id, repeat->makespan_ns, {}, {}};
    const auto layer = std::ranges::find_if(strategy.by_layer, [&](const LayerResult& l) {
      return l.layer == picture.layer && l.denoise_step == picture.denoise_step;
    });
    const int slowest = layer != strategy.by_layer.end() ? layer->slowest_rank.value_or(0) : 0;
    for (const int rank : some_of(plan.ranks, kMostRanks, slowest)) {
      band.ranks.push_back(rank);
      std::vector<ActivitySpan>& spans =
          band.spans.emplace_back(coarser(all[static_cast<std::size_t>(rank)], kMostSpans));
      for (ActivitySpan& span : spans) span.begin_ns += from_ns, span.end_ns += from_ns;
    }
    return band;
  }
  return std::nullopt;
}

HeadsOfStep heads_of(const StoreReader& reader, const MaskPlace& place) {
  HeadsOfStep step{place.denoise_step, {}};
  for (DensityThumbnail& thumbnail : reader.thumbnails(place.mask_id)) {
    const double density = density_of(thumbnail);
    step.heads.push_back({std::move(thumbnail), density});
  }
  return step;
}

// Adds who computes the heads of all steps under a strategy, where the file has plans of it.
void add_owners(const StoreReader& reader, const StrategyResult& strategy, PassPicture& picture,
                std::map<OwnerMap, std::int32_t>& known) {
  std::map<PlanId, std::vector<std::int32_t>> maps_of_plan;  // a plan may serve several steps
  const std::vector<RunRecord> runs = reader.runs(strategy.strategy_id);
  for (HeadsOfStep& step : picture.steps) {
    const auto run = std::ranges::find_if(runs, [&](const RunRecord& r) {
      return r.layer == picture.layer && r.denoise_step == step.denoise_step && r.plan_id;
    });
    if (run == runs.end()) continue;
    const auto [found, is_new] = maps_of_plan.try_emplace(*run->plan_id);
    if (is_new) {
      const Plan plan = reader.plan(*run->plan_id);
      if (plan.ranks > kMostRanks) return;
      for (OwnerMap& map : owner_maps(plan, AttendedAxis::kInner, static_cast<int>(step.heads.size()))) {
        const auto [index, unknown] = known.try_emplace(map, static_cast<std::int32_t>(picture.owner_maps.size()));
        if (unknown) picture.owner_maps.push_back(std::move(map));
        found->second.push_back(index->second);
      }
    }
    if (picture.owner_strategies.empty() || picture.owner_strategies.back() != strategy.id)
      picture.owner_strategies.push_back(strategy.id);
    const std::size_t count = picture.owner_strategies.size();
    for (std::size_t h = 0; h < std::min(step.heads.size(), found->second.size()); ++h) {
      step.heads[h].owners.resize(count, -1);
      step.heads[h].owners.back() = found->second[h];
    }
  }
}

}  // namespace

std::vector<std::vector<ActivitySpan>> activities(const Plan& plan, const Timeline& timeline) {
  std::vector<std::vector<Border>> borders(static_cast<std::size_t>(plan.ranks));
  std::int64_t zero_ns = 0;
  for (std::size_t i = 0; i < plan.ops.size(); ++i)
    zero_ns = i == 0 ? timeline.ops[i].post_ns : std::min(zero_ns, timeline.ops[i].post_ns);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const OpTimes& t = timeline.ops[i];
    const auto add = [&](std::int64_t begin_ns, std::int64_t end_ns, TimeColumn column) {
      if (begin_ns >= end_ns) return;
      std::vector<Border>& list = borders[static_cast<std::size_t>(plan.ops[i].rank)];
      list.push_back({begin_ns - zero_ns, column, 1});
      list.push_back({end_ns - zero_ns, column, -1});
    };
    if (communicates(plan.kind_of(plan.ops[i]))) {
      add(t.post_ns, t.begin_ns, TimeColumn::kLatePeer);
      add(t.begin_ns, t.end_ns, TimeColumn::kWire);
    } else {
      add(t.begin_ns, t.end_ns, TimeColumn::kCompute);
    }
  }
  std::vector<std::vector<ActivitySpan>> spans;
  for (std::vector<Border>& list : borders) spans.push_back(spans_of(std::move(list), timeline.makespan_ns()));
  return spans;
}

std::vector<ActivitySpan> coarser(const std::vector<ActivitySpan>& spans, std::int64_t most) {
  if (std::ssize(spans) <= most) return spans;
  const std::int64_t all_ns = spans.back().end_ns;
  std::vector<ActivitySpan> buckets;
  std::size_t next = 0;
  for (std::int64_t b = 0; b < most; ++b) {
    const std::int64_t begin = all_ns * b / most, end = all_ns * (b + 1) / most;
    std::array<std::int64_t, kNumTimeColumns> inside_ns = {};
    while (next < spans.size() && spans[next].end_ns <= begin) ++next;
    for (std::size_t i = next; i < spans.size() && spans[i].begin_ns < end; ++i)
      inside_ns[static_cast<std::size_t>(spans[i].column)] +=
          std::min(end, spans[i].end_ns) - std::max(begin, spans[i].begin_ns);
    const auto longest = std::ranges::max_element(inside_ns);
    const auto column = static_cast<TimeColumn>(longest - inside_ns.begin());
    if (!buckets.empty() && buckets.back().column == column)
      buckets.back().end_ns = end;
    else
      buckets.push_back({begin, end, column});
  }
  return buckets;
}

std::optional<PassPicture> slowest_pass_picture(const StoreReader& reader, const Comparison& comparison) {
  std::vector<const StrategyResult*> strategies;
  for (const StrategyResult& s : comparison.strategies) strategies.push_back(&s);
  const std::optional<PassPlace> pass = slowest_pass(strategies);
  if (!pass) return std::nullopt;
  PassPicture picture;
  picture.layer = pass->layer;
  picture.denoise_step = pass->denoise_step;
  for (const StrategyResult& s : comparison.strategies)
    if (auto band = s.legal() ? band_of(reader, s, picture) : std::nullopt) picture.bands.push_back(std::move(*band));
  std::vector<MaskPlace> places;
  int at = 0;
  for (const MaskPlace& place : reader.mask_places(comparison.workload.workload_id)) {
    if (place.layer != picture.layer || place.axis != AttendedAxis::kInner) continue;
    if (place.denoise_step == picture.denoise_step) at = static_cast<int>(places.size());
    places.push_back(place);
  }
  for (const int i : some_of(static_cast<int>(places.size()), kMostSteps, at))
    picture.steps.push_back(heads_of(reader, places[static_cast<std::size_t>(i)]));
  std::map<OwnerMap, std::int32_t> known;
  for (const StrategyResult& s : comparison.strategies)
    if (s.legal() && picture.owner_strategies.size() < kMostOwners) add_owners(reader, s, picture, known);
  return picture;
}

}  // namespace spscope
