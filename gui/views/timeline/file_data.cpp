#include "gui/views/timeline/file_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "gui/views/timeline/strip_picture.h"

namespace spscope::gui {
namespace {

// Events that are held at once for one file: 80 bytes each.
constexpr std::int64_t kMostEvents = 1'000'000;

TimePart part_of(EventCategory category) {
  return part_of_strip(static_cast<std::uint8_t>(static_cast<unsigned>(category) << 4));
}

std::string track_label(const Track& track) {
  return track.device ? fmt::format("{}, {}", track.name, *track.device) : track.name;
}

void add_ranks(const StoreReader& reader, FileTimes& times) {
  std::vector<int> nodes;
  for (const StrategyRecord& strategy : reader.strategies())
    if (strategy.rank_map.size() > nodes.size()) nodes = strategy.rank_map;
  times.base_shift = kMaxLodShift;
  std::map<TrackId, Track> tracks;
  for (const Track& track : reader.events().tracks()) tracks.emplace(track.track_id, track);
  for (const StoredPyramid& pyramid : reader.lod().rows()) {
    times.base_shift = std::min(times.base_shift, pyramid.base_shift);
    times.coarsest_base = std::max(times.coarsest_base, pyramid.base_shift);
    FileRank rank{.rank = pyramid.rank.value_or(kNoRank), .track = pyramid.track};
    const bool follows = rank.track && !times.ranks.empty() && pyramid.rank && times.ranks.back().rank == rank.rank;
    rank.owner = follows ? times.ranks.back().owner : times.ranks.size();
    rank.label = rank.track ? track_label(tracks[*rank.track]) : fmt::format("rank {}", rank.rank);
    // Of a program that was observed, no row says the rank.
    const bool headed = follows && !times.ranks[rank.owner].track;
    if (rank.track && pyramid.rank && !headed) rank.label = fmt::format("rank {}, {}", rank.rank, rank.label);
    if (pyramid.rank && static_cast<std::size_t>(rank.rank) < nodes.size())
      rank.node = nodes[static_cast<std::size_t>(rank.rank)];
    // Two buckets hold all time there is, that before zero and that after it.
    for (const LodBucket& bucket : reader.lod().buckets(pyramid, kMaxLodShift, -1, 1))
      for (std::size_t c = 0; c < bucket.busy_ns.size(); ++c) {
        const TimePart part = part_of(static_cast<EventCategory>(c));
        (part == TimePart::kCompute    ? rank.compute_ns
         : part == TimePart::kLatePeer ? rank.wait_ns
         : part == TimePart::kWire     ? rank.wire_ns
                                       : rank.other_ns) += bucket.busy_ns[c];
      }
    times.ranks.push_back(rank);
  }
}

void add_missing(const StoreReader& reader, FileTimes& times) {
  std::map<TrackId, int> rank_of;
  for (const Track& track : reader.events().tracks())
    if (track.rank) rank_of[track.track_id] = *track.rank;
  for (const LedgerRecord& row : reader.events().ledger()) {
    if (row.sent <= row.stored) continue;
    auto place = std::ranges::find(times.ranks, std::optional(row.track_id), &FileRank::track);
    if (const auto rank = rank_of.find(row.track_id); place == times.ranks.end() && rank != rank_of.end())
      place = std::ranges::find(times.ranks, rank->second, &FileRank::rank);
    if (place != times.ranks.end()) place->missing += row.sent - row.stored;
  }
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

std::string FileTimes::place_of(const RankEvent& event) const {
  if (!event.track) return fmt::format("rank {}, lane {}", event.rank, event.lane);
  const auto row = std::ranges::find(ranks, event.track, &FileRank::track);
  const std::string label = row != ranks.end() ? row->label : "";
  const bool says_rank = event.rank == kNoRank || label.starts_with("rank ");
  return says_rank ? label : fmt::format("{}, rank {}", label, event.rank);
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
  add_ranks(reader, times);
  if (times.ranks.empty()) times.why_none = "the file has no pyramids, from which the time of a whole file is drawn";
  add_missing(reader, times);
  add_passes(reader, times);
  return times;
}

FileEvents load_file_events(const StoreReader& reader, const std::vector<FileRank>& ranks, EventWindow window,
                            std::int64_t recorded_until_ns) {
  FileEvents found;
  found.window = window;
  auto events = reader.events().rank_events(window, kMostEvents);
  found.too_many = !events;
  if (found.too_many) return found;
  found.events = *std::move(events);
  std::map<std::pair<int, std::optional<TrackId>>, std::vector<TimeClaim>> claims;
  for (std::size_t i = 0; i < found.events.size(); ++i) {
    const RankEvent& e = found.events[i];
    if (!found.names.contains(e.span.name))
      found.names.emplace(e.span.name, e.span.name == 0 ? "" : reader.events().name(e.span.name));
    const auto end = e.span.end_ns == kNeverEnded ? std::max(recorded_until_ns, e.span.begin_ns) : e.span.end_ns;
    std::vector<TimeClaim>& row = claims[{e.rank, e.track}];
    const TimePart part = part_of(event_category(e.span.flags));
    const auto number = static_cast<OpId>(i);
    if (e.wait_begin_ns < e.wait_end_ns) {
      row.push_back({e.span.begin_ns, e.wait_begin_ns, number, part});
      row.push_back({e.wait_begin_ns, e.wait_end_ns, number, TimePart::kLatePeer});
      row.push_back({e.wait_end_ns, end, number, part});
    } else {
      row.push_back({e.span.begin_ns, end, number, part});
    }
  }
  for (const FileRank& rank : ranks) found.rows.push_back(settled(std::move(claims[{rank.rank, rank.track}])));
  return found;
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
