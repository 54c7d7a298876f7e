// Files of older versions: they are never changed. What they hold is copied into a new database of today's schema, in
// memory to read it (open_store) or in a new file (spscope migrate).
#pragma once

#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// Fills `to` from a store of an older version: our schema, every row of our tables, events as chunks; what else the
// file holds stays behind. REQUIRES: `from` passed the checks of open_source; `to` is empty. Throws Error
// (kStoreCorrupt) when a row makes no sense.
void migrate_copy(Database& from, int version, Database& to, ChunkCodec codec = ChunkCodec::kPacked);

}  // namespace spscope
