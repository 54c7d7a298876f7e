#include "backend/store/merge/merge_ledger.h"

#include <algorithm>
#include <tuple>

namespace spscope {

namespace {

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

std::vector<LedgerRecord> merged_ledger(std::span<const MergedTrack> tracks) {
  std::vector<LedgerRecord> rows;
  for (const MergedTrack& track : tracks) rows.push_back(row_of(track));
  // A line of a now page counts all slots of its lane; what only the page knows goes to the first slot.
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const LaneNow* now = tracks[i].track.slot == 0 ? now_of(tracks[i]) : nullptr;
    if (now == nullptr) continue;
    std::int64_t sent = 0, dropped = 0;
    for (std::size_t k = 0; k < tracks.size(); ++k) {
      if (std::tie(tracks[k].track.rank, tracks[k].track.lane) != std::tie(tracks[i].track.rank, tracks[i].track.lane))
        continue;
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
