// What every new store begins with, finished file and shard alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/record/rank_records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// Writes the application id, first and on disk before anything else, so that what a crash leaves is known to be ours.
// The file never grows beyond max_bytes; 0: no limit but the disk's. REQUIRES: no transaction.
void mark_as_ours(Database& db, std::int64_t max_bytes);

// Every table, the names of stored numbers, and what the file is.
void create_tables(Database& db, std::string_view tool_version, const ShardRecord& shard = {});

// A finished file of at most 2 MiB gets small pages, since each of its tables and indices takes one at least. REQUIRES:
// no transaction, and no statement that is under way.
void pack_small(Database& db);

// What meta says of the shard; kind kNone in a finished file. Throws Error (kStoreCorrupt) when it makes no sense.
ShardRecord shard_record(Database& db);
// 32 hexadecimal digits that this shard and copies of it have, and no other; "" in a finished file.
std::string shard_id(Database& db);

}  // namespace spscope
