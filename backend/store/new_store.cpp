#include "backend/store/new_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/base/clock.h"
#include "backend/base/random_id.h"
#include "backend/record/now_page.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/enum_names.h"
#include "backend/store/records.h"

namespace spscope {

namespace {

[[noreturn]] void no_shard(const Database& db, std::string_view what) {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": {}", db.path(), what),
              "give the shards as the run left them");
}

}  // namespace

void mark_as_ours(Database& db, std::int64_t max_bytes) {
  if (max_bytes > 0) {
    Statement page_bytes(db, "PRAGMA page_size");
    page_bytes.step();
    db.execute(fmt::format("PRAGMA max_page_count = {}", std::max<std::int64_t>(1, max_bytes / page_bytes.integer(0))));
  }
  db.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion));
}

void create_tables(Database& db, std::string_view tool_version, const ShardRecord& shard) {
  db.execute(std::string(embedded_schema()));
  Statement note(db, "INSERT INTO meta (key, value) VALUES (?, ?)");
  note.run("schema_version", std::to_string(kSchemaVersion));
  note.run("min_reader", std::to_string(kMinReader));
  note.run("tool_version", tool_version);
  note.run("created_utc", utc_now());
  if (shard.kind != ShardKind::kNone) {
    note.run("shard", shard.kind == ShardKind::kHead ? "head" : "rank");
    note.run("collection", shard.collection);
    note.run("clock", shard.clock == ShardClock::kRaw ? "raw" : "run");
    note.run("shard_rank", std::to_string(shard.rank));
    note.run("shard_id", collection_text(random_id()));
  }
  Statement name(db, "INSERT INTO enum_name (kind, value, name) VALUES (?, ?, ?)");
  for (const EnumName& row : enum_names()) name.run(row.kind, row.value, row.name);
}

void pack_small(Database& db) {
  constexpr std::int64_t kMostPages = 512, kMostPossible = 1073741823;
  Statement pages(db, "PRAGMA page_count");
  if (!pages.step() || pages.integer(0) > kMostPages) return;
  pages.reset();
  db.execute(fmt::format("PRAGMA max_page_count = {}; PRAGMA page_size = 512; VACUUM", kMostPossible));
}

std::string shard_id(Database& db) {
  Statement row(db, "SELECT value FROM main.meta WHERE key = 'shard_id'");
  return row.step() ? row.text(0) : std::string();
}

ShardRecord shard_record(Database& db) {
  Statement row(db, "SELECT value FROM main.meta WHERE key = ?");
  const auto value = [&](const char* key) {
    const std::string text = row.bind_all(key).step() ? row.text(0) : std::string();
    row.reset();
    return text;
  };
  ShardRecord shard;
  const std::string kind = value("shard");
  if (kind.empty()) return shard;
  if (kind != "head" && kind != "rank") no_shard(db, fmt::format("meta.shard is \"{}\"", kind));
  shard.kind = kind == "head" ? ShardKind::kHead : ShardKind::kRank;
  shard.collection = value("collection");
  const std::string clock = value("clock"), rank = value("shard_rank");
  if (clock != "raw" && clock != "run") no_shard(db, fmt::format("meta.clock is \"{}\"", clock));
  shard.clock = clock == "raw" ? ShardClock::kRaw : ShardClock::kRun;
  const auto [end, error] = std::from_chars(rank.data(), rank.data() + rank.size(), shard.rank);
  if (error != std::errc() || end != rank.data() + rank.size() || shard.rank < -1)
    no_shard(db, "meta.shard_rank is not a rank");
  return shard;
}

}  // namespace spscope
