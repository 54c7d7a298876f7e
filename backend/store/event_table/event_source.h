// What the virtual tables of events read a file through: the tracks, runs and names that events refer to, and the
// chunks that may hold what is asked for, unpacked column by column.
//
// Everything here throws Error when the file is damaged or SQLite fails; the virtual tables turn that into their error
// text. It works on any connection, also on one to a file that is being written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/event_table/event_filter.h"
#include "backend/store/sqlite/sqlite_api.h"

namespace spscope {

// A statement on a connection that somebody else owns. Parameters and columns count from 0.
class BorrowedStatement {
 public:
  BorrowedStatement(sqlite3* db, std::string_view sql);

  // Numbers of all parameters, from the first; then step() walks the rows.
  void start(std::span<const std::int64_t> values);
  bool step();
  void reset() noexcept { sqlite3_reset(handle_.get()); }
  std::int64_t integer(int column) const;
  std::int64_t integer(int column, std::int64_t min, std::int64_t max) const;
  // Valid until the next step().
  std::string_view text(int column) const;
  std::span<const std::uint8_t> blob(int column) const;
  bool is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// The rows that events refer to.
class EventSource {
 public:
  explicit EventSource(sqlite3* db);

  sqlite3* db() const { return db_; }
  // Reads everything again when the file has changed since the last call.
  void refresh();
  // Throw when the file has no such track or run. kNoRun ends with the last moment that any event knows of.
  const Track& track(std::int64_t id) const;
  // When the run ended; nullopt when none of its repeats has.
  std::optional<std::int64_t> run_end_ns(RunId run) const;
  // nullptr when the file has no such name. Valid until refresh().
  const std::string* name(NameId id);
  std::vector<NameId> names_with_text(std::string_view text);
  const std::string* category(std::uint32_t flags) const;
  // The tracks of these ranks and lanes, as the smallest interval around their keys.
  Bounds tracks_of(const Bounds& rank, const Bounds& lane) const;
  // An upper estimate of the number of events.
  std::int64_t events_at_most() const { return chunks_ * kMaxChunkEvents; }

 private:
  void read_tracks();
  void read_runs();
  void read_categories();

  sqlite3* db_;
  BorrowedStatement begin_reading_, find_name_;
  std::optional<std::pair<unsigned, int>> read_at_;  // data version, and changes that this connection made
  std::map<std::int64_t, Track> tracks_;
  std::map<RunId, std::optional<std::int64_t>> run_end_ns_;
  bool knows_runs_ = true;  // false in the shard of a rank, whose runs are in another file
  std::unordered_map<NameId, std::optional<std::string>> names_;
  std::map<std::uint32_t, std::string> categories_;
  std::int64_t chunks_ = 0;
};

// One chunk.
struct ChunkRow {
  std::int64_t chunk_id = 0;
  RunId run = kNoRun;
  Track track;
  ChunkHeader header;
  std::span<const std::uint8_t> data;  // valid until the next chunk

  // Wraps for keys that no writer gives.
  std::int64_t event_id(int index) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(chunk_id) * kMaxChunkEvents +
                                     static_cast<std::uint64_t>(index));
  }
};

// Walks the chunks of events, or of counters, that may hold some inside bounds: run by run and track by track in order
// of time.
class ChunkScan {
 public:
  ChunkScan(EventSource& source, bool counters);

  void start(const EventBounds& bounds);
  // Whether there is another chunk; then `chunk` is it.
  bool next(ChunkRow& chunk);
  // Leaves the file alone until the next start().
  void stop() noexcept;

 private:
  bool read(std::int64_t chunk_id, ChunkRow& chunk);

  EventSource& source_;
  const bool counters_;
  EventBounds bounds_;
  BorrowedStatement find_, find_of_run_, find_by_id_, read_;
  BorrowedStatement* finding_ = nullptr;  // the one under way
};

// Columns of a chunk as plain numbers; those that were not asked for are empty.
struct EventValues {
  std::vector<std::int64_t> columns[kNumEventColumns];  // begin_ns to op_id, entry_ns to peer, and those of work
  std::vector<std::uint32_t> names, flags;              // of the columns that are made of them
  RecordKind kind = RecordKind::kSpan;

  const std::vector<std::int64_t>& of(EventColumn column) const { return columns[static_cast<int>(column)]; }
  std::vector<std::int64_t>& of(EventColumn column) { return columns[static_cast<int>(column)]; }
};

// Unpacks a chunk, as little of it as is needed. The chunk's data must outlive this.
class ChunkUnpacker {
 public:
  // Throws Error (kStoreCorrupt) when the chunk is damaged.
  ChunkUnpacker(const ChunkHeader& header, std::span<const std::uint8_t> data);
  // Fills the columns of `used` (column_bit) and those that they are computed from; begins and ends come together.
  void unpack(std::uint32_t used, EventValues& values);
  ChunkColumns& columns() { return columns_; }

 private:
  ChunkColumns columns_;
  RecordKind kind_;
};

}  // namespace spscope
