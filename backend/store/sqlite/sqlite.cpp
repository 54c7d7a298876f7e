#include "backend/store/sqlite/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/file_system.h"
#include "backend/base/memory_refused.h"
#include "backend/store/sqlite/store_memory.h"

namespace spscope {

namespace {

// Larger than any plan or mask that is written (a plan for 1,024 ranks has about 10 MB), small enough that a hostile
// length cannot exhaust memory.
constexpr int kMaxValueBytes = 256 << 20;

// A shard's log is played back into the shard when it has this many bytes.
constexpr int kShardPageBytes = 8192, kShardLogBytes = 16 << 20;
// How long a reader waits for a writer that repairs the index of a shard after a crash.
constexpr int kMaxWaitMs = 5000;

constexpr const char* kCopyAgain = "the file is damaged; copy it again from where it was made";

// Paths may hold characters that mean something in a URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri;
}

bool damaged(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT ||
         primary == SQLITE_TOOBIG || primary == SQLITE_ERROR || code == SQLITE_IOERR_SHORT_READ;
}

// Whether the path names a descriptor of this process, as OutputFile::held_path() does.
bool names_descriptor(std::string_view path) {
  return path.starts_with("/proc/self/fd/") || path.starts_with(fmt::format("/proc/{}/fd/", ::getpid()));
}

// How SQLite opens files here: never waiting. The files beside a database (-wal, -shm, -journal) are opened because of
// their names, and a named pipe under one of these would be waited for. Devices are opened: SQLite puts /dev/null at
// the descriptors 0 to 2 when one of these is closed, and reads /dev/urandom.
int open_without_waiting(const char* path, int flags, int mode) {
  if (names_descriptor(path)) flags &= ~O_NOFOLLOW;
  const int fd = ::open(path, flags | O_NONBLOCK | O_NOCTTY, mode);
  struct stat status = {};
  if (fd < 0 || (::fstat(fd, &status) == 0 && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))) return fd;
  ::close(fd);
  errno = EACCES;
  return -1;
}

// SQLite replaces links in a path by what they say. The link of a descriptor is more than its text: it leads to the
// open file whatever its name stands for by now, so it is shown as that file and opened as it is.
int stat_of_link(const char* path, struct stat* status) {
  return names_descriptor(path) ? ::stat(path, status) : ::lstat(path, status);
}

// Before the first file is opened: the table of calls is one for the process.
void set_system_calls() {
  static const bool done = [] {
    sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
    return vfs != nullptr && vfs->iVersion >= 3 && vfs->xSetSystemCall != nullptr &&
           vfs->xSetSystemCall(vfs, "open", reinterpret_cast<sqlite3_syscall_ptr>(open_without_waiting)) == SQLITE_OK &&
           vfs->xSetSystemCall(vfs, "lstat", reinterpret_cast<sqlite3_syscall_ptr>(stat_of_link)) == SQLITE_OK;
  }();
  SPSCOPE_CHECK(done);
}

// errno of the file that SQLite could not use, which may be the log (-wal) or the index (-shm) beside the database; 0:
// it is not known.
int cause_of(sqlite3* db, int code) {
  const int primary = code & 0xff;
  if (db == nullptr || (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN)) return 0;
  constexpr int kOfIndex[] = {SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP};
  if (primary == SQLITE_CANTOPEN || std::ranges::find(kOfIndex, code) != std::end(kOfIndex))
    return sqlite3_system_errno(db);
  int cause = 0;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &cause);
  sqlite3_file* log = nullptr;
  if (cause == 0) sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &cause);
  return cause;
}

// ": Too many open files"
std::string words_of(int cause) { return cause == 0 ? "" : fmt::format(": {}", std::strerror(cause)); }

}  // namespace

bool can_disable_stored_views() { return sqlite3_libversion_number() >= 3035000; }

Database::Database(const std::string& file, int flags, std::string path, bool writing, const char* vfs)
    : path_(std::move(path)), writing_(writing) {
  set_system_calls();
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
  handle_.reset(raw);
  if (code != SQLITE_OK) {
    const char* text = raw != nullptr ? sqlite3_errmsg(raw) : sqlite3_errstr(code);
    const int cause = cause_of(raw, code);
    throw Error(writing ? ErrorCode::kStoreWrite : ErrorCode::kStoreOpen,
                fmt::format("cannot open \"{}\": {} (SQLite){}", path_, text, words_of(cause)), remedy_of(cause));
  }
}

Database Database::create(const std::string& file, const std::string& path) {
  // nolock: OutputFile holds the file by flock, which file systems of a network (NFS, Lustre) make a lock of all its
  // bytes, and that lock would keep SQLite's own locks out.
  Database db(uri_of(file) + "?nolock=1", SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, path, true);
  // The file is ours alone until it is renamed and is thrown away after a crash, so it needs neither journal nor syncs
  // before the last one. It is written once from front to back, so that a small cache does.
  db.execute(
      "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
      "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096; PRAGMA encoding = 'UTF-8'");
  return db;
}

Database Database::open_read_only(const std::string& path) {
  Database db(uri_of(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path, false, checked_vfs());
  if (db.page_checksums() == PageChecksums::State::kDamaged)
    throw Error(
        ErrorCode::kStoreCorrupt,
        fmt::format("cannot read \"{}\": the checksums at its end are cut short or not as they were written", path),
        fmt::format("copy it again from where it was made; spscope recover \"{}\" -o FILE.db reads it without them",
                    path));
  db.set_hostile_limits();
  return db;
}

Database Database::create_shard(const std::string& path) {
  Database db(uri_of(path), SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, path, true);
  db.place_setting_ = kScratchSetting;
  // A reader that follows the run locks the log for a moment when it opens it first.
  db.check(sqlite3_busy_timeout(db.handle(), kMaxWaitMs));
  db.execute(
      fmt::format("PRAGMA page_size = {}; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; "
                  "PRAGMA cache_size = -16384; PRAGMA encoding = 'UTF-8'",
                  kShardPageBytes));
  return db;
}

void Database::write_ahead() {
  Statement mode(*this, "PRAGMA journal_mode = WAL");
  if (!mode.step() || mode.text(0) != "wal")
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot write \"{}\": its file system has no shared memory for a write-ahead log", path_),
                fmt::format("choose a local folder with {}", place_setting_));
  mode.reset();
  // What is written is in the kernel's hands and outlives the process. Only a computer that goes down loses it, and its
  // scratch folder is mostly gone with it: the thread that empties the rings never waits for a disk to flush.
  execute(fmt::format("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = {}; PRAGMA journal_size_limit = {}",
                      kShardLogBytes / kShardPageBytes, 2 * kShardLogBytes));
}

Database Database::open_shard(const std::string& path) {
  Database db(uri_of(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path, false);
  db.check(sqlite3_busy_timeout(db.handle(), kMaxWaitMs));
  db.set_hostile_limits();
  return db;
}

Database Database::open_damaged(const std::string& path, bool keeps_log) {
  Database db(uri_of(path) + (keeps_log ? "" : "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path, false,
              keeps_log ? nullptr : checked_vfs());
  db.check(sqlite3_busy_timeout(db.handle(), kMaxWaitMs));
  db.set_hostile_limits(true);
  return db;
}

Database Database::in_memory() {
  return Database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ":memory:", true);
}

void Database::set_hostile_limits(bool damaged) {
  sqlite3* db = handle();
  const auto set = [&](int option, int value) { check(sqlite3_db_config(db, option, value, nullptr)); };
  set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0);
  set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
  // With this a schema that does not fit the file is passed over, table by table, instead of the whole file. It comes
  // before anything that looks at the schema. The connection cannot write.
  set(SQLITE_DBCONFIG_DEFENSIVE, damaged ? 0 : 1);
  if (damaged) execute("PRAGMA writable_schema = ON");
#if SQLITE_VERSION_NUMBER >= 3030000
  // That also ends SQLite's check that a name in the list of tables is that of what is made: no virtual table can be.
  if (damaged) check(sqlite3_drop_modules(db, nullptr));
#endif
  set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  if (can_disable_stored_views()) set(SQLITE_DBCONFIG_ENABLE_VIEW, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
  sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 1'000'000);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768");
}

void Database::execute(const std::string& sql) {
  check(sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr));
}

PageChecksums::State Database::page_checksums() const {
  const PageCheck* const check = page_check(handle());
  return check == nullptr ? PageChecksums::State::kNone : check->checksums.state;
}

void Database::check(int code) const {
  if (code != SQLITE_OK) fail(code);
}

void limit_store_memory(std::int64_t bytes) {
#if SQLITE_VERSION_NUMBER >= 3031000
  sqlite3_hard_heap_limit64(bytes);
#else
  sqlite3_soft_heap_limit64(bytes);
#endif
}

std::int64_t largest_store_allocation() {
  sqlite3_int64 now = 0, largest = 0;
  sqlite3_status64(SQLITE_STATUS_MALLOC_SIZE, &now, &largest, 0);
  return largest;
}

// SQLite wanted more than it may take, or than there is.
[[noreturn]] void Database::fail_for_memory() const {
  memory_refused();
  throw std::bad_alloc();
}

// Throws when a page that does not match its checksum is why a statement failed.
void Database::require_right_page() const {
  PageCheck* const check = page_check(handle());
  if (check == nullptr || check->refused == 0) return;
  const std::uint32_t page = std::exchange(check->refused, 0);
  throw Error(
      ErrorCode::kStoreCorrupt,
      fmt::format("cannot read \"{}\": page {} is not as it was written, so the file was damaged or changed since",
                  path_, page),
      fmt::format("copy it again from where it was made; spscope doctor \"{0}\" lists all that is damaged, and spscope "
                  "recover \"{0}\" -o FILE.db keeps the rest",
                  path_));
}

namespace {

int stop_when_cancelled(void* token) noexcept { return static_cast<const CancelToken*>(token)->is_cancelled(); }

}  // namespace

void Database::cancel_by(const CancelToken& token) {
  *cancel_ = token;
  sqlite3_progress_handler(handle(), kInstructionsPerLook, stop_when_cancelled, cancel_.get());
}

void Database::fail(int code) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_INTERRUPT) cancel_->require_going();
  if (primary == SQLITE_NOMEM && (!writing_ || sqlite3_soft_heap_limit64(-1) > 0)) fail_for_memory();
  if (primary == SQLITE_CORRUPT) require_right_page();
  const int cause = cause_of(handle(), code);
  const std::string text = fmt::format("{} (SQLite {}){}", sqlite3_errmsg(handle()), code, words_of(cause));
  if (writing_) {
    const bool full = primary == SQLITE_FULL || primary == SQLITE_IOERR;
    throw Error(ErrorCode::kStoreWrite, fmt::format("cannot write \"{}\": {}", path_, text),
                remedy_of(primary == SQLITE_NOMEM ? ENOMEM : cause,
                          full ? fmt::format("free space or raise the quota there, or choose another folder with {}",
                                             place_setting_)
                               : ""));
  }
  throw Error(damaged(code) ? ErrorCode::kStoreCorrupt : ErrorCode::kStoreOpen,
              fmt::format("cannot read \"{}\": {}", path_, text), damaged(code) ? kCopyAgain : remedy_of(cause));
}

void Database::throw_damaged(std::string_view why) const {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": {}", path_, why), kCopyAgain);
}

Statement::Statement(Database& db, std::string_view sql) : db_(&db) {
  sqlite3_stmt* raw = nullptr;
  db.check(sqlite3_prepare_v2(db.handle(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr));
  handle_.reset(raw);
}

void Statement::bind_integer(int index, std::int64_t value) {
  db_->check(sqlite3_bind_int64(handle(), index + 1, value));
}

void Statement::bind_null(int index) { db_->check(sqlite3_bind_null(handle(), index + 1)); }

void Statement::bind(int index, double value) { db_->check(sqlite3_bind_double(handle(), index + 1, value)); }

void Statement::bind(int index, std::string_view text) {
  db_->check(sqlite3_bind_text64(handle(), index + 1, text.data() == nullptr ? "" : text.data(), text.size(),
                                 SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int index, std::span<const std::uint8_t> blob) {
  const void* data = blob.empty() ? "" : static_cast<const void*>(blob.data());
  db_->check(sqlite3_bind_blob64(handle(), index + 1, data, blob.size(), SQLITE_STATIC));
}

void Statement::copy(int index, const Statement& row, int column) {
  db_->check(sqlite3_bind_value(handle(), index + 1, sqlite3_column_value(row.handle(), column)));
}

bool Statement::try_run() {
  const int code = sqlite3_step(handle());
  if (code == SQLITE_DONE || (code & 0xff) == SQLITE_CONSTRAINT) {
    reset();
    return code == SQLITE_DONE;
  }
  db_->fail(code);
}

bool Statement::step() {
  const int code = sqlite3_step(handle());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) db_->fail(code);
  reset();
  return false;
}

void Statement::reset() noexcept { sqlite3_reset(handle()); }

int Statement::num_columns() const { return sqlite3_column_count(handle()); }

std::string Statement::column_name(int index) const {
  const char* name = sqlite3_column_name(handle(), index);
  return name != nullptr ? name : "";
}

bool Statement::is_null(int index) const { return sqlite3_column_type(handle(), index) == SQLITE_NULL; }

void Statement::expect_type(int index, int type) const {
  if (sqlite3_column_type(handle(), index) == type) return;
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": column {} of a row holds another type",
                                                    db_->path(), column_name(index)));
}

std::int64_t Statement::integer(int index) const {
  expect_type(index, SQLITE_INTEGER);
  return sqlite3_column_int64(handle(), index);
}

std::int64_t Statement::integer(int index, std::int64_t min, std::int64_t max) const {
  const std::int64_t value = integer(index);
  if (value >= min && value <= max) return value;
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": {} = {} is outside {} to {}", db_->path(),
                                                    column_name(index), value, min, max));
}

int Statement::count(int index) const { return static_cast<int>(integer(index, 0, std::numeric_limits<int>::max())); }

double Statement::real(int index) const {
  expect_type(index, SQLITE_FLOAT);
  return sqlite3_column_double(handle(), index);
}

std::string Statement::text(int index) const {
  expect_type(index, SQLITE_TEXT);
  const auto* bytes = sqlite3_column_text(handle(), index);
  return std::string(reinterpret_cast<const char*>(bytes),
                     static_cast<std::size_t>(sqlite3_column_bytes(handle(), index)));
}

std::span<const std::uint8_t> Statement::blob(int index) const {
  expect_type(index, SQLITE_BLOB);
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle(), index));
  return {bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(handle(), index))};
}

Transaction::Transaction(Database& db) : db_(&db) { db.execute("BEGIN"); }

Transaction::~Transaction() {
  if (open_) sqlite3_exec(db_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  db_->execute("COMMIT");
  open_ = false;
}

}  // namespace spscope
