#include "backend/store/merge/keep_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "backend/base/time_range.h"

namespace spscope {

namespace {

// The first and the last moment that events know of.
EventWindow range_of(const std::vector<MergeSource>& sources) {
  EventWindow range{kNeverEnded, std::numeric_limits<std::int64_t>::min()};
  for (const MergeSource& source : sources)
    for (const SourceTrack& track : source.tracks)
      for (const ChunkPlace& chunk : track.chunks) {
        const ChunkHeader& header = chunk.header;
        range.begin_ns = std::min(range.begin_ns, header.begin_min_ns);
        range.end_ns = std::max({range.end_ns, header.begin_max_ns,
                                 header.end_max_ns == kNeverEnded ? header.begin_max_ns : header.end_max_ns});
      }
  return range;
}

void check_range(const std::vector<MergeSource>& sources, const EventWindow& range) {
  const EventWindow file = range_of(sources);
  const std::string& path = sources.front().path;
  if (file.begin_ns > file.end_ns)
    throw Error(ErrorCode::kUsage, fmt::format("\"{}\" holds no events, so it has no range of time to keep", path),
                "leave out --range");
  const std::string hint =
      fmt::format("the events of \"{}\" are in {}", path, time_range_text(file.begin_ns, file.end_ns));
  const std::string asked = time_range_text(range.begin_ns, range.end_ns);
  if (range.begin_ns > range.end_ns)
    throw Error(ErrorCode::kUsage, fmt::format("the range {} ends before it begins", asked), hint);
  if (range.begin_ns == range.end_ns) throw Error(ErrorCode::kUsage, fmt::format("the range {} is empty", asked), hint);
  if (range.begin_ns > file.end_ns || range.end_ns <= file.begin_ns)
    throw Error(ErrorCode::kUsage, fmt::format("the range {} holds none of the file's time", asked), hint);
}

template <typename Record>
std::optional<ChunkHeader> header_of(std::vector<Record>& records, const EventWindow& range) {
  erase_outside(records, range);
  if (records.empty()) return std::nullopt;
  return encode_chunk(std::span<const Record>(records), Compress::kFast).header;
}

// What the row of a chunk would say if it held only the events of the range; nothing when there are none.
std::optional<ChunkHeader> header_inside(const ChunkHeader& header, std::span<const std::uint8_t> data,
                                         const EventWindow& range) {
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> samples;
  std::vector<WorkEvent> work;
  switch (header.kind) {
    case RecordKind::kSpan:
      decode_spans(header, data, spans);
      return header_of(spans, range);
    case RecordKind::kCollective:
      decode_collectives(header, data, collectives);
      return header_of(collectives, range);
    case RecordKind::kCounter:
      decode_counters(header, data, samples);
      return header_of(samples, range);
    case RecordKind::kWork:
      decode_work(header, data, work);
      return header_of(work, range);
  }
  return std::nullopt;
}

// Whether anything of the chunk is left.
bool keep_chunk(Statement& data, const MergeSource& source, ChunkPlace& chunk, const EventWindow& range) {
  const ChunkHeader whole = chunk.header;
  if (whole.begin_min_ns >= range.end_ns || whole.end_max_ns < range.begin_ns) return false;
  if (whole.begin_min_ns >= range.begin_ns && whole.begin_max_ns < range.end_ns) return true;
  if (!data.bind_all(chunk.chunk_id).step())
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": a chunk is missing", source.path));
  const std::optional<ChunkHeader> inside = header_inside(whole, data.blob(0), range);
  data.reset();
  if (!inside) return false;
  chunk.cut = ChunkPlace::Cut{whole, range};
  chunk.header = *inside;
  return true;
}

}  // namespace

void keep_range(std::vector<MergeSource>& sources, const EventWindow& range) {
  check_range(sources, range);
  for (MergeSource& source : sources) {
    Statement& data = source.db->chunk_data();
    for (SourceTrack& track : source.tracks) {
      std::erase_if(track.chunks, [&](ChunkPlace& chunk) { return !keep_chunk(data, source, chunk, range); });
      std::int64_t kept = 0;
      for (const ChunkPlace& chunk : track.chunks) kept += chunk.header.count;
      track.ledger.sent -= track.ledger.stored - kept;
      track.ledger.stored = kept;
    }
  }
}

void mark_range(Database& out, const EventWindow& range) {
  Statement note(out, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  note.run("kept_from_ns", std::to_string(range.begin_ns));
  note.run("kept_to_ns", std::to_string(range.end_ns));
  Statement(out, "UPDATE repeat SET has_timeline = 0 WHERE begin_ns < ?1 OR end_ns > ?2")
      .run(range.begin_ns, range.end_ns);
}

}  // namespace spscope
