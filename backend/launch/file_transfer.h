// A file from the process of one rank to that of another, by messages of the world: in pieces, so that neither end
// holds more than one of them. Each piece has its checksum and is answered before the next one, so that a disk that is
// full ends the transfer at once, at both ends.
#pragma once

#include <cstdint>
#include <string>

#include "backend/execute/rank_world.h"

namespace spscope {

inline constexpr std::int64_t kPieceBytes = 4 << 20;

// The two are called at the same time, with the same piece_bytes. When one end cannot go on, it throws an Error that
// says why (kStoreOpen, kStoreWrite, kOutputPlace), and so does the other end, with what it knows of it.
// Sends all of the file, which nobody may write to meanwhile.
void send_file(RankWorld& world, int to, const std::string& path, std::int64_t piece_bytes = kPieceBytes);
// The file, of `file_bytes` bytes as the sender announced, appears under `path` when all of it is there and durable,
// and not at all otherwise. One of another size is an Error at both ends (kStoreCorrupt here).
void receive_file(RankWorld& world, int from, const std::string& path, std::int64_t file_bytes,
                  std::int64_t piece_bytes = kPieceBytes);

}  // namespace spscope
