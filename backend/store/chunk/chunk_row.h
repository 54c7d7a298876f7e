// The header of a chunk as its row in the table `chunk` holds it: read in one place, whatever reads the row.
#pragma once

#include <limits>
#include <string_view>

#include "backend/store/chunk/chunk_codec.h"

namespace spscope {

// Its columns, one after the other.
inline constexpr std::string_view kChunkHeaderColumns =
    "record_kind, codec, count, begin_min_ns, begin_max_ns, end_max_ns, op_min, op_max, crc32c";

// Reads them, from column `first` of a row on. `Row` has integer(column) and integer(column, min, max), which throw
// Error when the row holds something else.
template <typename Row>
ChunkHeader chunk_header(const Row& row, int first) {
  ChunkHeader header;
  header.kind = static_cast<RecordKind>(row.integer(first, 0, kNumRecordKinds - 1));
  header.codec = static_cast<ChunkCodec>(row.integer(first + 1, 0, 255));
  header.count = static_cast<int>(row.integer(first + 2, 1, kMaxChunkEvents));
  header.begin_min_ns = row.integer(first + 3);
  header.begin_max_ns = row.integer(first + 4);
  header.end_max_ns = row.integer(first + 5);
  header.op_min = row.integer(first + 6);
  header.op_max = row.integer(first + 7);
  header.crc32c = static_cast<std::uint32_t>(row.integer(first + 8, 0, std::numeric_limits<std::uint32_t>::max()));
  return header;
}

}  // namespace spscope
