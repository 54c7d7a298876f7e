#include "backend/store/event_table/event_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/base/error.h"
#include "backend/store/chunk/chunk_row.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void corrupt(const std::string& message) {
  throw Error(ErrorCode::kStoreCorrupt, message,
              "spscope doctor FILE says what is damaged, spscope recover FILE -o OUT.db keeps what can be read");
}

// The bounds of a chunk are compared with what is asked for in the index chunk_by_run, without touching a chunk. Chunks
// of no run are found where the question does not ask for runs.
constexpr std::string_view kBounds =
    "track_id BETWEEN ?1 AND ?2 AND begin_min_ns <= ?3 AND begin_max_ns >= ?4 AND end_max_ns >= ?5 AND op_min <= ?6"
    " AND op_max >= ?7";
std::string find_chunks_sql(std::string_view of_run) {
  return fmt::format("SELECT chunk_id FROM main.chunk WHERE {}{} ORDER BY run_id, track_id, seq", kBounds, of_run);
}
constexpr std::string_view kFindChunksById = "SELECT chunk_id FROM main.chunk WHERE chunk_id BETWEEN ?1 AND ?2";

std::string read_chunk_sql() {
  return fmt::format("SELECT run_id, track_id, {}, data FROM main.chunk WHERE chunk_id = ?", kChunkHeaderColumns);
}

}  // namespace

BorrowedStatement::BorrowedStatement(sqlite3* db, std::string_view sql) : db_(db) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr) !=
      SQLITE_OK)
    corrupt(sqlite3_errmsg(db));
  handle_.reset(raw);
}

void BorrowedStatement::start(std::span<const std::int64_t> values) {
  reset();
  for (std::size_t i = 0; i < values.size(); ++i) sqlite3_bind_int64(handle_.get(), static_cast<int>(i) + 1, values[i]);
}

bool BorrowedStatement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) corrupt(sqlite3_errmsg(db_));
  reset();
  return false;
}

std::int64_t BorrowedStatement::integer(int column) const {
  if (sqlite3_column_type(handle_.get(), column) != SQLITE_INTEGER)
    corrupt(fmt::format("column {} of a row is not a whole number", sqlite3_column_name(handle_.get(), column)));
  return sqlite3_column_int64(handle_.get(), column);
}

std::int64_t BorrowedStatement::integer(int column, std::int64_t min, std::int64_t max) const {
  const std::int64_t value = integer(column);
  if (value < min || value > max)
    corrupt(fmt::format("{} = {} is outside {} to {}", sqlite3_column_name(handle_.get(), column), value, min, max));
  return value;
}

std::string_view BorrowedStatement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::span<const std::uint8_t> BorrowedStatement::blob(int column) const {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

EventSource::EventSource(sqlite3* db)
    : db_(db),
      begin_reading_(db, "SELECT 1 FROM main.meta LIMIT 1"),
      find_name_(db, "SELECT value FROM main.string WHERE string_id = ?") {
  BorrowedStatement count(db, "SELECT count(*) FROM main.chunk");
  if (count.step()) chunks_ = count.integer(0);
}

void EventSource::refresh() {
  // SQLite learns of changes when it begins to read. (PRAGMA data_version would be refused by an authorizer.)
  begin_reading_.start({});
  begin_reading_.step();
  unsigned version = 0;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_DATA_VERSION, &version);
  begin_reading_.reset();
  const std::pair now(version, sqlite3_total_changes(db_));
  if (read_at_ == now) return;
  read_tracks();
  read_runs();
  read_categories();
  names_.clear();
  read_at_ = now;
}

void EventSource::read_tracks() {
  tracks_.clear();
  BorrowedStatement rows(db_, fmt::format("SELECT {} FROM main.track", kTrackColumns));
  while (rows.step()) tracks_[rows.integer(0)] = track_of(rows);
}

void EventSource::read_runs() {
  run_end_ns_.clear();
  BorrowedStatement shard(db_, "SELECT 1 FROM main.meta WHERE key = 'shard' AND value = 'rank'");
  knows_runs_ = !shard.step();
  // A run that was cut off was under way until the last moment that any event knows of.
  BorrowedStatement rows(db_,
                         "SELECT r.run_id, (SELECT max(end_ns) FROM ("
                         "SELECT p.end_ns FROM main.repeat p WHERE p.run_id = r.run_id UNION ALL "
                         "SELECT CAST(m.value AS INTEGER) FROM main.meta m WHERE m.key = 'recorded_until_ns'"
                         " AND r.finished = 0)) FROM main.run r");
  while (rows.step()) {
    std::optional<std::int64_t>& end_ns = run_end_ns_[RunId{rows.integer(0)}];
    if (!rows.is_null(1)) end_ns = rows.integer(1);
  }
  run_end_ns_[kNoRun].reset();
  BorrowedStatement until(db_, "SELECT CAST(value AS INTEGER) FROM main.meta WHERE key = 'recorded_until_ns'");
  if (until.step()) run_end_ns_[kNoRun] = until.integer(0);
}

void EventSource::read_categories() {
  categories_.clear();
  BorrowedStatement rows(db_, "SELECT value, name FROM main.enum_name WHERE kind = 'event.category'");
  while (rows.step()) categories_[static_cast<std::uint32_t>(rows.integer(0) & 0xff)] = rows.text(1);
}

const Track& EventSource::track(std::int64_t id) const {
  const auto it = tracks_.find(id);
  if (it == tracks_.end()) corrupt(fmt::format("a chunk belongs to track {}, which does not exist", id));
  return it->second;
}

std::optional<std::int64_t> EventSource::run_end_ns(RunId run) const {
  const auto it = run_end_ns_.find(run);
  if (it != run_end_ns_.end()) return it->second;
  if (knows_runs_)
    corrupt(fmt::format("a chunk belongs to run {}, which does not exist", static_cast<std::int64_t>(run)));
  return std::nullopt;
}

const std::string* EventSource::name(NameId id) {
  const auto [it, is_new] = names_.try_emplace(id);
  if (is_new) {
    const std::int64_t key = id;
    find_name_.start({&key, 1});
    if (find_name_.step()) it->second = std::string(find_name_.text(0));
    find_name_.reset();
  }
  return it->second ? &*it->second : nullptr;
}

std::vector<NameId> EventSource::names_with_text(std::string_view text) {
  BorrowedStatement rows(db_, "SELECT string_id, value FROM main.string");
  std::vector<NameId> ids;
  while (rows.step())
    if (rows.text(1) == text) ids.push_back(static_cast<NameId>(rows.integer(0, 0, kMaxU32)));
  return ids;
}

const std::string* EventSource::category(std::uint32_t flags) const {
  const auto it = categories_.find(flags & 0xff);
  return it != categories_.end() ? &it->second : nullptr;
}

Bounds EventSource::tracks_of(const Bounds& rank, const Bounds& lane) const {
  Bounds ids;
  if (rank == Bounds{} && lane == Bounds{}) return ids;
  ids = {ids.max, ids.min};
  for (const auto& [id, track] : tracks_)
    if (rank.holds(track.rank) && lane.holds(track.lane)) ids = {std::min(ids.min, id), std::max(ids.max, id)};
  return ids;
}

ChunkScan::ChunkScan(EventSource& source, bool counters)
    : source_(source),
      counters_(counters),
      find_(source.db(), find_chunks_sql("")),
      find_of_run_(source.db(), find_chunks_sql(" AND run_id BETWEEN ?8 AND ?9")),
      find_by_id_(source.db(), kFindChunksById),
      read_(source.db(), read_chunk_sql()) {}

void ChunkScan::stop() noexcept {
  find_.reset();
  find_of_run_.reset();
  find_by_id_.reset();
  read_.reset();
  finding_ = nullptr;
}

void ChunkScan::start(const EventBounds& bounds) {
  stop();
  bounds_ = bounds;
  if (bounds_.empty()) return;
  Bounds& tracks = bounds_.track_id;
  const Bounds of_ranks = source_.tracks_of(bounds_.rank, bounds_.lane);
  tracks = {std::max(tracks.min, of_ranks.min), std::min(tracks.max, of_ranks.max)};
  if (tracks.empty()) return;
  if (bounds_.event_id != Bounds{}) {
    const std::int64_t ids[] = {bounds_.event_id.min / kMaxChunkEvents - 1, bounds_.event_id.max / kMaxChunkEvents + 1};
    find_by_id_.start(ids);
    finding_ = &find_by_id_;
    return;
  }
  // An event that ends before X begins before X.
  const std::int64_t values[] = {
      tracks.min,           tracks.max,         std::min(bounds_.begin_ns.max, bounds_.end_ns.max),
      bounds_.begin_ns.min, bounds_.end_ns.min, bounds_.op_id.max,
      bounds_.op_id.min,    bounds_.run_id.min, bounds_.run_id.max};
  const bool any_run = bounds_.run_id == Bounds{};
  finding_ = any_run ? &find_ : &find_of_run_;
  finding_->start(std::span(values).first(any_run ? 7 : 9));
}

bool ChunkScan::next(ChunkRow& chunk) {
  while (finding_ != nullptr && finding_->step())
    if (read(finding_->integer(0), chunk)) return true;
  finding_ = nullptr;
  return false;
}

bool ChunkScan::read(std::int64_t chunk_id, ChunkRow& chunk) {
  read_.start({&chunk_id, 1});
  if (!read_.step()) corrupt(fmt::format("chunk {} is in an index and not in the table", chunk_id));
  if ((read_.integer(2) == static_cast<std::int64_t>(RecordKind::kCounter)) != counters_) return false;
  chunk.chunk_id = chunk_id;
  chunk.run = chunk_run(read_, 0);
  chunk.track = source_.track(read_.integer(1));
  source_.run_end_ns(chunk.run);
  const bool has_run = chunk.run != kNoRun;
  if (!bounds_.track_id.holds(read_.integer(1)) || !bounds_.rank.holds(chunk.track.rank) ||
      !bounds_.lane.holds(chunk.track.lane) ||
      !bounds_.run_id.holds(has_run ? std::optional(static_cast<std::int64_t>(chunk.run)) : std::nullopt))
    return false;
  chunk.header = chunk_header(read_, 2);
  chunk.data = read_.blob(11);
  return true;
}

}  // namespace spscope
