#include "backend/store/merge/merge_unfinished.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backend/base/result.h"
#include "backend/store/stored_plan.h"
#include "backend/store/timeline_events.h"

namespace spscope {

namespace {

// The last events of a track of each kind, on its own clock.
std::vector<SpanEvent> last_events(const MergedTrack& track) {
  std::vector<SpanEvent> last;
  if (track.from == nullptr) return last;
  const std::vector<ChunkPlace>& chunks = track.from->chunks;
  for (const RecordKind kind : {RecordKind::kSpan, RecordKind::kCollective}) {
    const auto chunk =
        std::find_if(chunks.rbegin(), chunks.rend(), [&](const auto& c) { return c.header.kind == kind; });
    if (chunk == chunks.rend()) continue;
    Statement data(*track.source->db, kChunkData);
    std::vector<SpanEvent> spans;
    if (data.bind_all(chunk->chunk_id).step()) decode_spans(chunk->header, data.blob(0), spans);
    if (!spans.empty()) last.push_back(spans.back());
  }
  return last;
}

// Whether the events of the lane tell of the op, or of a later one: then the page is the older of the two.
bool is_told(const std::vector<MergedTrack>& tracks, const NowPage::Line& line) {
  return std::any_of(tracks.begin(), tracks.end(), [&](const MergedTrack& track) {
    if (!track.track.is_of(line.rank, line.lane)) return false;
    const std::vector<SpanEvent> last = last_events(track);
    return std::any_of(last.begin(), last.end(), [&](const SpanEvent& event) {
      return event.begin_ns > line.now.begin_ns || (event.begin_ns == line.now.begin_ns && event.op_id == line.now.op);
    });
  });
}

// The plans of a file by run; nothing where the file does not know the plan.
class Plans {
 public:
  explicit Plans(Database& db) : db_(db) {}
  const Plan* of_run(RunId run) {
    const auto [it, is_new] = plans_.try_emplace(run);
    if (is_new) {
      auto plan = capture([&]() -> std::optional<Plan> {
        Statement row(db_, "SELECT plan_id FROM run WHERE run_id = ?");
        if (!row.bind_all(run).step() || row.is_null(0)) return std::nullopt;
        return load_plan(db_, PlanId{row.integer(0)});
      });
      if (!plan) require_damage(plan.error());
      if (plan) it->second = std::move(*plan);
    }
    return it->second ? &*it->second : nullptr;
  }

 private:
  Database& db_;
  std::map<RunId, std::optional<Plan>> plans_;
};

MergedTrack& track_of_line(std::vector<MergedTrack>& tracks, const MergeSource& source, const NowPage::Line& line) {
  for (MergedTrack& track : tracks)
    if (track.track.is_of(line.rank, line.lane) && track.track.slot == 0) return track;
  MergedTrack& track = tracks.emplace_back();
  track.source = &source;
  track.track.rank = line.rank;
  track.track.lane = line.lane;
  return track;
}

}  // namespace

void add_unfinished_ops(Database& out, std::vector<MergedTrack>& tracks, std::span<const MergeSource> sources,
                        const std::function<NameId(const std::string&)>& name) {
  Plans plans(out);
  for (const MergeSource& source : sources) {
    if (!source.now) continue;
    for (const NowPage::Line& line : source.now->lines) {
      const LaneNow& now = line.now;
      const bool inside = line.whole && now.inside_op() && now.repeat >= 0 && !is_told(tracks, line);
      if (!inside && now.sent == 0) continue;
      MergedTrack& track = track_of_line(tracks, source, line);
      if (!inside) continue;
      UnfinishedOp op{.run = now.run, .span = {.begin_ns = now.begin_ns, .end_ns = kNeverEnded, .op_id = now.op}};
      const Plan* plan = plans.of_run(now.run);
      const bool known = plan != nullptr && now.op < std::ssize(plan->ops);
      const Op* planned = known ? &plan->ops[static_cast<std::size_t>(now.op)] : nullptr;
      op.span.name = name(known ? op_name(*plan, *planned) : fmt::format("op {}", now.op));
      op.span.flags =
          event_flags(known ? op_category(plan->kind_of(*planned)) : EventCategory::kOther) | kEventUnfinished;
      track.unfinished.push_back(op);
    }
  }
}

}  // namespace spscope
