#include "backend/store/merge/merge_ledger.h"

#include <algorithm>
#include <tuple>

namespace spscope {

namespace {

std::int64_t known(const LedgerRecord& row) { return row.stored + row.dropped + row.unreadable + row.lost; }

// What the chunks that can be read and the shard's own ledger say. The shard commits chunks and ledger together, so
// what its ledger has and its chunks have not was written and cannot be read.
LedgerRecord row_of(const MergedStream& stream) {
  LedgerRecord row;
  row.stream_id = stream.stream.stream_id;
  if (stream.from == nullptr) return row;
  const LedgerRecord& then = stream.from->ledger;
  for (const ChunkPlace& chunk : stream.from->chunks) row.stored += chunk.header.count;
  const std::int64_t written = std::max(then.stored, row.stored + stream.from->unreadable);
  row.dropped = then.dropped;
  row.unreadable = then.unreadable + written - row.stored;
  row.lost = then.lost;
  return row;
}

const LaneNow* now_of(const MergedStream& stream) {
  if (stream.source == nullptr || !stream.source->now) return nullptr;
  for (const NowPage::Line& line : stream.source->now->lines)
    if (line.rank == stream.stream.rank && line.lane == stream.stream.lane) return &line.now;
  return nullptr;
}

}  // namespace

std::vector<LedgerRecord> merged_ledger(std::span<const MergedStream> streams) {
  std::vector<LedgerRecord> rows;
  for (const MergedStream& stream : streams) rows.push_back(row_of(stream));
  // A line of a now page counts all slots of its lane; what only the page knows goes to the first slot.
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const LaneNow* now = streams[i].stream.slot == 0 ? now_of(streams[i]) : nullptr;
    if (now == nullptr) continue;
    std::int64_t sent = 0, dropped = 0;
    for (std::size_t k = 0; k < streams.size(); ++k) {
      if (std::tie(streams[k].stream.rank, streams[k].stream.lane) !=
          std::tie(streams[i].stream.rank, streams[i].stream.lane))
        continue;
      sent += known(rows[k]);
      dropped += rows[k].dropped;
    }
    const std::int64_t more_dropped = std::max<std::int64_t>(0, now->dropped - dropped);
    rows[i].dropped += more_dropped;
    rows[i].lost += std::max<std::int64_t>(0, now->sent - sent - more_dropped);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].stored += std::ssize(streams[i].unfinished);  // made by the merge, so sent and stored alike
    rows[i].sent = known(rows[i]);
  }
  return rows;
}

}  // namespace spscope
