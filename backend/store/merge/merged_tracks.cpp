#include "backend/store/merge/merged_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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
    Statement& data = track.source->db->chunk_data();
    std::vector<SpanEvent> spans;
    if (data.bind_all(chunk->chunk_id).step()) decode_spans(chunk->header, data.blob(0), spans);
    data.reset();
    if (!spans.empty()) last.push_back(spans.back());
  }
  return last;
}

// Whether the events of the lane have the op, or a later one: then the page is the older of the two.
bool is_stored(const std::vector<MergedTrack>& tracks, const NowPage::Line& line) {
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

std::int64_t known(const LedgerRecord& row) { return row.stored + row.dropped + row.unreadable + row.lost; }

// What the chunks that can be read and the shard's own ledger say. The shard commits chunks and ledger together, so
// what its ledger has and its chunks have not was written and cannot be read.
LedgerRecord row_of(const MergedTrack& track) {
  LedgerRecord row;
  row.track_id = track.track.track_id;
  if (track.from == nullptr) return row;
  const LedgerRecord& then = track.from->ledger;
  for (const ChunkPlace& chunk : track.from->chunks) row.stored += chunk.header.count;
  const std::int64_t written = std::max(then.stored, row.stored + track.from->unreadable);
  row.dropped = then.dropped;
  row.unreadable = then.unreadable + written - row.stored;
  row.lost = then.lost;
  return row;
}

const LaneNow* now_of(const MergedTrack& track) {
  if (track.source == nullptr || !track.source->now) return nullptr;
  for (const NowPage::Line& line : track.source->now->lines)
    if (track.track.is_of(line.rank, line.lane)) return &line.now;
  return nullptr;
}

}  // namespace

void add_unfinished_ops(Database& out, std::vector<MergedTrack>& tracks, std::span<const MergeSource> sources,
                        const std::function<NameId(const std::string&)>& name) {
  Plans plans(out);
  for (const MergeSource& source : sources) {
    if (!source.now) continue;
    for (const NowPage::Line& line : source.now->lines) {
      const LaneNow& now = line.now;
      const bool inside = line.whole && now.inside_op() && now.repeat >= 0 && !is_stored(tracks, line);
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

std::vector<LedgerRecord> merged_ledger(std::span<const MergedTrack> tracks) {
  std::vector<LedgerRecord> rows;
  for (const MergedTrack& track : tracks) rows.push_back(row_of(track));
  // A line of a now page counts all slots of its lane; what only the page knows goes to the first slot.
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const LaneNow* now = tracks[i].track.slot == 0 ? now_of(tracks[i]) : nullptr;
    if (now == nullptr) continue;
    std::int64_t sent = 0, dropped = 0;
    for (std::size_t k = 0; k < tracks.size(); ++k) {
      if (!tracks[k].track.is_of(*tracks[i].track.rank, *tracks[i].track.lane)) continue;
      sent += known(rows[k]);
      dropped += rows[k].dropped;
    }
    const std::int64_t more_dropped = std::max<std::int64_t>(0, now->dropped - dropped);
    rows[i].dropped += more_dropped;
    rows[i].lost += std::max<std::int64_t>(0, now->sent - sent - more_dropped);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].stored += std::ssize(tracks[i].unfinished);  // made by the merge, so sent and stored alike
    rows[i].sent = known(rows[i]);
  }
  return rows;
}

}  // namespace spscope
