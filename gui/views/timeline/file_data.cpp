#include "gui/views/timeline/file_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "gui/views/timeline/event_facts.h"

namespace spscope::gui {
namespace {

// Events that are held at once for one file: 160 bytes each with their span of a row, while they are loaded 40 more.
constexpr std::int64_t kMostEvents = 1'000'000;

// What the events of a track claim of its row, or of its rows where they overlap; of a rank those of its lanes.
void add_rows(FileEvents& found, const FileRow& row, std::span<const TimeBox> boxes) {
  if (row.num_subs == 1) {
    std::vector<TimeClaim> claims;
    claims.reserve(boxes.size());
    for (const TimeBox& box : boxes)
      for (const TimeClaim& claim : box.claims())
        if (claim.begin_ns < claim.end_ns) claims.push_back(claim);
    found.rows.push_back(settled(std::move(claims)));
    return;
  }
  SpreadSpans rows = spread(boxes, row.num_subs);
  const auto known = static_cast<int>(found.hidden.size());
  for (std::vector<TimeSpan>& spans : rows.rows) {
    for (TimeSpan& span : spans)
      if (span.hidden != 0) span.hidden += known;
    found.rows.push_back(std::move(spans));
  }
  for (std::vector<OpId>& hidden : rows.hidden) found.hidden.push_back(std::move(hidden));
}

void add_passes(const StoreReader& reader, FileTimes& times) {
  for (const StrategyRecord& strategy : reader.strategies()) {
    if (strategy.mode == RunMode::kObserved) continue;  // it has no layer passes
    for (const RunRecord& run : reader.runs(strategy.strategy_id))
      for (const RepeatRecord& repeat : reader.repeats(run.run_id))
        if (repeat.begin_ns <= times.end_ns && repeat.begin_ns + repeat.makespan_ns >= times.zero_ns)
          times.passes.push_back({run.run_id, strategy.id, strategy.label.empty() ? strategy.id : strategy.label,
                                  run.layer, run.denoise_step, repeat.repeat, repeat.begin_ns,
                                  repeat.begin_ns + repeat.lead_ns + repeat.makespan_ns});
  }
  std::ranges::sort(times.passes, {}, &PassMark::begin_ns);
}

}  // namespace

const PassMark* FileTimes::pass_of(RunId run, std::int64_t at_ns) const {
  const PassMark* found = nullptr;
  for (const PassMark& pass : passes)
    if (pass.run == run && (found == nullptr || pass.begin_ns <= at_ns)) found = &pass;
  return found;
}

std::string FileTimes::place_of(const RowEvent& event) const {
  if (!event.track) return fmt::format("rank {}, lane {}", event.rank, event.lane);
  const auto row = std::ranges::find(rows, event.track, &FileRow::track);
  const std::string title = row != rows.end() ? row->title : "";
  const bool says_rank = event.rank == kNoRank || title.starts_with("rank ");
  return says_rank ? title : fmt::format("{}, rank {}", title, event.rank);
}

FileTimes load_file_times(const StoreReader& reader) {
  FileTimes times;
  const std::vector<RunSpan> runs = reader.events().run_spans();
  if (runs.empty()) {
    times.why_none = "the file keeps no events: only the times of whole layer passes";
    return times;
  }
  times.zero_ns = std::ranges::min_element(runs, {}, &RunSpan::first_ns)->first_ns;
  times.end_ns = std::ranges::max_element(runs, {}, &RunSpan::last_ns)->last_ns;
  const std::vector<StoredPyramid> strips = reader.lod().rows();
  if (strips.empty()) times.why_none = "the file has no pyramids, from which the time of a whole file is drawn";
  times.base_shift = kMaxLodShift;
  for (const StoredPyramid& pyramid : strips) {
    times.base_shift = std::min(times.base_shift, pyramid.base_shift);
    times.coarsest_base = std::max(times.coarsest_base, pyramid.base_shift);
  }
  times.rows = load_file_rows(reader);
  for (std::size_t part = 0; part < kNumTimeParts; ++part)
    if (std::ranges::any_of(times.rows, [&](const FileRow& row) { return row.busy_ns[part] > 0; }))
      times.parts.push_back(static_cast<TimePart>(part));
  add_passes(reader, times);
  return times;
}

FileEvents load_file_events(const StoreReader& reader, const std::vector<FileRow>& rows, EventWindow window,
                            std::int64_t recorded_until_ns) {
  FileEvents found;
  found.window = window;
  auto events = reader.events().row_events(window, kMostEvents);
  found.too_many = !events;
  if (found.too_many) return found;
  found.events = *std::move(events);
  std::map<std::pair<int, std::optional<TrackId>>, std::vector<TimeBox>> boxes;
  for (std::size_t i = 0; i < found.events.size(); ++i) {
    const RowEvent& e = found.events[i];
    if (!found.names.contains(e.span.name))
      found.names.emplace(e.span.name, e.span.name == 0 ? "" : reader.events().name(e.span.name));
    if (e.detail != 0 && !found.details.contains(e.detail))
      found.details.emplace(e.detail, reader.events().work_detail(e.detail));
    const RowOf row = row_of(e);
    const auto end = e.span.end_ns == kNeverEnded ? std::max(recorded_until_ns, e.span.begin_ns) : e.span.end_ns;
    boxes[{e.rank, e.track}].push_back({.begin_ns = e.span.begin_ns,
                                        .end_ns = end,
                                        .wait_begin_ns = e.wait_begin_ns,
                                        .wait_end_ns = e.wait_end_ns,
                                        .op = static_cast<OpId>(i),
                                        .part = part_of(event_category(e.span.flags), row),
                                        .wait_part = wait_part(row)});
  }
  for (const FileRow& row : rows) {
    const bool has_events = row.kind == FileRowKind::kLanes || row.kind == FileRowKind::kTrack;
    if (!has_events)
      found.rows.emplace_back();
    else if (row.sub == 0)
      add_rows(found, row, boxes[{row.rank, row.track}]);
  }
  return found;
}

FileCounters load_file_counters(const StoreReader& reader, const std::vector<FileRow>& rows, std::size_t heading) {
  FileCounters counters;
  for (const FileRow& row : rows)
    if (row.kind == FileRowKind::kCounter && row.heading == heading) {
      std::vector<CounterSample> samples = reader.events().counters(*row.track);
      // What was recovered may hold those of two shards.
      if (!std::ranges::is_sorted(samples, {}, &CounterSample::time_ns))
        std::ranges::stable_sort(samples, {}, &CounterSample::time_ns);
      counters.emplace(*row.track, CounterSeries(samples));
    }
  return counters;
}

std::function<std::optional<std::int64_t>(RunId, std::int64_t)> group_of_events(const StoreReader& reader,
                                                                                EventGroup group) {
  auto runs = std::make_shared<std::map<RunId, RunRecord>>();
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) runs->emplace(run.run_id, run);
  // Layer passes share plans: each is read once.
  auto plans = std::make_shared<std::map<PlanId, std::shared_ptr<const Plan>>>();
  return [&reader, group, runs, plans](RunId id, std::int64_t op) -> std::optional<std::int64_t> {
    const auto run = runs->find(id);
    if (run == runs->end()) return std::nullopt;
    if (group == EventGroup::kLayer) return run->second.layer;
    if (group == EventGroup::kStep) return run->second.denoise_step;
    if (!run->second.plan_id) return std::nullopt;
    std::shared_ptr<const Plan>& plan = (*plans)[*run->second.plan_id];
    if (!plan) plan = std::make_shared<const Plan>(reader.plan(*run->second.plan_id));
    if (op < 0 || op >= std::ssize(plan->ops)) return std::nullopt;
    return plan->post_of(plan->ops[static_cast<std::size_t>(op)]).ring_step;
  };
}

EventWindow steady_window(std::int64_t begin_ns, std::int64_t end_ns) {
  int shift = 0;
  while (shift < kMaxLodShift - 2 && (std::int64_t{1} << shift) < end_ns - begin_ns) ++shift;
  const std::int64_t middle = (begin_ns + (end_ns - begin_ns) / 2) >> shift;
  return {lod_begin_ns(middle - 1, shift), lod_begin_ns(middle + 2, shift)};
}

}  // namespace spscope::gui
