#include "backend/store/sqlite/checked_file.h"

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "backend/base/result.h"

namespace spscope {

namespace {

constexpr int kGetPageCheck = 0x53505343;  // an opcode of our own for sqlite3_file_control
constexpr std::size_t kMaxPageBytes = 65536;
constexpr std::int64_t kFileHeaderBytes = 100;
constexpr int kSubpageRead = 0x8000;  // SQLITE_IOCAP_SUBPAGE_READ, which older SQLite does not declare

// What SQLite takes for its file. The file of the usual VFS follows in the same piece of memory.
struct CheckedFile {
  sqlite3_file base;
  PageCheck* check;  // of the database itself; other files have none
};
static_assert(sizeof(CheckedFile) % 8 == 0, "the file behind it is aligned");

CheckedFile& checked(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* inner(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(&checked(file) + 1); }
const sqlite3_io_methods& methods(sqlite3_file* file) { return *inner(file)->pMethods; }
sqlite3_vfs& usual(sqlite3_vfs* vfs) { return *static_cast<sqlite3_vfs*>(vfs->pAppData); }

ReadBytes reader_of(sqlite3_file* file) {
  return [file](std::int64_t offset, std::span<std::uint8_t> out) {
    return file->pMethods->xRead(file, out.data(), static_cast<int>(out.size()), offset) == SQLITE_OK;
  };
}

int close_file(sqlite3_file* file) noexcept {
  delete std::exchange(checked(file).check, nullptr);
  return methods(file).xClose(inner(file));
}

int read_file(sqlite3_file* file, void* out, int amount, sqlite3_int64 offset) noexcept {
  PageCheck* const check = checked(file).check;
  if (check == nullptr || check->checksums.state != PageChecksums::State::kThere)
    return methods(file).xRead(inner(file), out, amount, offset);
  const auto page_bytes = std::int64_t{check->checksums.page_bytes};
  const std::int64_t page = offset / page_bytes, begin = offset % page_bytes;
  if (page >= std::ssize(check->checksums.crc32c)) return methods(file).xRead(inner(file), out, amount, offset);
  // SQLite looks at the header before it knows the size of a page, and then reads the page. From 3.45 on it reads the
  // ends of long values in parts.
  const bool is_header = page == 0 && begin + amount <= kFileHeaderBytes;
  if (is_header) return methods(file).xRead(inner(file), out, amount, offset);
  if (begin + amount <= page_bytes) {
    std::array<std::uint8_t, kMaxPageBytes> whole;
    const std::span<std::uint8_t> all(whole.data(), static_cast<std::size_t>(page_bytes));
    const int code = methods(file).xRead(inner(file), all.data(), static_cast<int>(page_bytes), page * page_bytes);
    if (code != SQLITE_OK) return code;
    if (check->checksums.match(static_cast<std::uint32_t>(page + 1), all)) {
      std::memcpy(out, all.data() + begin, static_cast<std::size_t>(amount));
      return SQLITE_OK;
    }
  }
  check->refused = static_cast<std::uint32_t>(page + 1);  // also by a header with another size of pages
  return SQLITE_CORRUPT;
}

// SQLite calls what follows and knows no exceptions: the only one is that memory runs out.
template <typename Step>
int code_of(const Step& step) noexcept {
  const Result<int> code = capture(step);
  return code ? *code : SQLITE_NOMEM;
}

int control_file(sqlite3_file* file, int operation, void* argument) noexcept {
  if (operation != kGetPageCheck) return methods(file).xFileControl(inner(file), operation, argument);
  *static_cast<PageCheck**>(argument) = checked(file).check;
  return SQLITE_OK;
}

// Version 1: neither shared memory, which a finished file needs none of, nor mapped reads, which nothing could check.
constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = [](sqlite3_file*, const void*, int, sqlite3_int64) noexcept { return SQLITE_READONLY; },
    .xTruncate = [](sqlite3_file*, sqlite3_int64) noexcept { return SQLITE_READONLY; },
    .xSync = [](sqlite3_file*, int) noexcept { return SQLITE_OK; },
    .xFileSize = [](sqlite3_file* f, sqlite3_int64* bytes) noexcept { return methods(f).xFileSize(inner(f), bytes); },
    .xLock = [](sqlite3_file* f, int level) noexcept { return methods(f).xLock(inner(f), level); },
    .xUnlock = [](sqlite3_file* f, int level) noexcept { return methods(f).xUnlock(inner(f), level); },
    .xCheckReservedLock = [](sqlite3_file* f,
                             int* out) noexcept { return methods(f).xCheckReservedLock(inner(f), out); },
    .xFileControl = control_file,
    .xSectorSize = [](sqlite3_file* f) noexcept { return methods(f).xSectorSize(inner(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) noexcept { return methods(f).xDeviceCharacteristics(inner(f)) & ~kSubpageRead; },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) noexcept {
  file->pMethods = nullptr;
  checked(file).check = nullptr;
  inner(file)->pMethods = nullptr;
  const int code = usual(vfs).xOpen(&usual(vfs), name, inner(file), flags, out_flags);
  if (inner(file)->pMethods != nullptr) file->pMethods = &kMethods;
  if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
  return code_of([&] {
    auto check = std::make_unique<PageCheck>();
    sqlite3_int64 bytes = 0;
    const int sized = methods(file).xFileSize(inner(file), &bytes);
    if (sized != SQLITE_OK) return sized;
    check->checksums = read_page_checksums(bytes, reader_of(inner(file)));
    checked(file).check = check.release();
    return SQLITE_OK;
  });
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs* const usual_vfs = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs{};
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + usual_vfs->szOsFile;
  vfs.mxPathname = usual_vfs->mxPathname;
  vfs.zName = "spscope-checked";
  vfs.pAppData = usual_vfs;
  vfs.xOpen = open_file;
  vfs.xDelete = [](sqlite3_vfs*, const char*, int) noexcept { return SQLITE_READONLY; };
  vfs.xAccess = [](sqlite3_vfs* v, const char* path, int flags, int* out) noexcept {
    return usual(v).xAccess(&usual(v), path, flags, out);
  };
  vfs.xFullPathname = [](sqlite3_vfs* v, const char* path, int bytes, char* out) noexcept {
    return usual(v).xFullPathname(&usual(v), path, bytes, out);
  };
  vfs.xRandomness = [](sqlite3_vfs* v, int bytes, char* out) noexcept {
    return usual(v).xRandomness(&usual(v), bytes, out);
  };
  vfs.xSleep = [](sqlite3_vfs* v, int microseconds) noexcept { return usual(v).xSleep(&usual(v), microseconds); };
  vfs.xCurrentTime = [](sqlite3_vfs* v, double* out) noexcept { return usual(v).xCurrentTime(&usual(v), out); };
  vfs.xGetLastError = [](sqlite3_vfs* v, int bytes, char* out) noexcept {
    return usual(v).xGetLastError(&usual(v), bytes, out);
  };
  vfs.xCurrentTimeInt64 = [](sqlite3_vfs* v, sqlite3_int64* out) noexcept {
    return usual(v).xCurrentTimeInt64(&usual(v), out);
  };
  return vfs;
}

}  // namespace

const char* checked_vfs() {
  static sqlite3_vfs vfs = make_vfs();
  [[maybe_unused]] static const int known = sqlite3_vfs_register(&vfs, 0);
  return vfs.zName;
}

PageCheck* page_check(sqlite3* db) {
  PageCheck* check = nullptr;
  sqlite3_file_control(db, "main", kGetPageCheck, &check);
  return check;
}

}  // namespace spscope
