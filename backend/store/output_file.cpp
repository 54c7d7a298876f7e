#include "backend/store/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "backend/base/error.h"
#include "backend/base/own_files.h"
#include "backend/base/regular_file.h"
#include "backend/base/whole_file.h"
#include "backend/store/sqlite/page_checksums.h"

namespace spscope {

namespace {

constexpr const char* kUnreadableHint = "look at the permissions of the file and of its folder";

// Side files of SQLite. One that belongs to an older file of the same name would be played back into the new one.
constexpr const char* kSideFiles[] = {"-journal", "-wal", "-shm"};

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

std::string reason() { return std::strerror(errno); }

// The folder is there, is a folder and lets us in. Whether a file can be made in it, only trying shows.
void check_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0)
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write \"{}\": folder \"{}\": {}", path, folder, reason()),
                "create the folder or choose another one with -o");
  if (!S_ISDIR(status.st_mode))
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write \"{}\": \"{}\" is not a folder", path, folder),
                "choose another path with -o");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write \"{}\": folder \"{}\": {}", path, folder, reason()),
                "choose a folder that you may write to with -o");
}

// A database under the name of another format would be taken for it by everybody.
void refuse_other_format(const std::string& path) {
  constexpr std::string_view kOthers[] = {".html", ".htm", ".md", ".json", ".csv", ".txt", ".toml", ".npy", ".npz"};
  const std::string ending = std::filesystem::path(path).extension();
  if (std::ranges::find(kOthers, ending) != std::end(kOthers))
    throw Error(
        ErrorCode::kOutputPlace, fmt::format("\"{}\" would be an SQLite database that ends in {}", path, ending),
        "name it FILE.db; make reports and tables of it with: spscope report FILE.db -o REPORT.html, or spscope "
        "export");
}

FileKind kind_of_content(int fd) {
  std::array<char, 72> header{};
  if (::pread(fd, header.data(), header.size(), 0) < std::ssize(header)) return FileKind::kForeign;
  // The header of an SQLite file: its name in the first 16 bytes, the application id at byte 68.
  const std::string_view text(header.data(), header.size());
  const bool ours = text.substr(0, 16) == std::string_view("SQLite format 3\0", 16) && text.substr(68, 4) == "SPSC";
  return ours ? FileKind::kStore : FileKind::kForeign;
}

// In a folder with the sticky bit, as /tmp, the rename at the end of the run would fail.
void refuse_file_of_others(const std::string& path) {
  struct stat file = {}, folder = {};
  const uid_t user = ::geteuid();
  if (::lstat(path.c_str(), &file) != 0 || ::stat(folder_of(path).c_str(), &folder) != 0 || user == 0) return;
  if ((folder.st_mode & S_ISVTX) != 0 && file.st_uid != user && folder.st_uid != user)
    throw Error(ErrorCode::kOutputPlace, fmt::format("\"{}\" belongs to another user and cannot be replaced", path),
                "choose another path with -o");
}

void check_side_files(const std::string& path) {
  for (const char* suffix : kSideFiles)
    if (exists(path + suffix))
      throw Error(ErrorCode::kStoreExists, fmt::format("\"{}{}\" is left of another database", path, suffix),
                  "remove it or choose another path with -o");
}

}  // namespace

FileKind file_kind(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return exists(path) ? FileKind::kSpecial : FileKind::kAbsent;
    throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": {}", path, reason()), kUnreadableHint);
  }
  if (S_ISDIR(status.st_mode)) return FileKind::kFolder;
  if (!S_ISREG(status.st_mode)) return FileKind::kSpecial;
  if (status.st_size == 0) return FileKind::kEmpty;
  const RegularFile file(path);
  if (!file.is_open())
    throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": {}", path, file.reason()), kUnreadableHint);
  return kind_of_content(file.descriptor());
}

void OutputFile::check(const std::string& path, bool force) {
  if (path.empty()) throw Error(ErrorCode::kOutputPlace, "the output has no path", "name a file with -o");
  refuse_dash(path);
  refuse_other_format(path);
  check_folder(path);
  const FileKind kind = file_kind(path);
  if (kind == FileKind::kAbsent) return check_side_files(path);
  if (kind == FileKind::kFolder || kind == FileKind::kSpecial)
    throw Error(ErrorCode::kStoreExists,
                fmt::format("\"{}\" is {}", path, kind == FileKind::kFolder ? "a folder" : "not a regular file"),
                "name a file with -o");
  if (kind == FileKind::kForeign)
    throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" exists and is not a file of spscope", path),
                "choose another path with -o; a file of another program is never overwritten");
  if (!force)
    throw Error(ErrorCode::kStoreExists,
                fmt::format("\"{}\" exists{}", path, kind == FileKind::kEmpty ? ", and is empty" : ""),
                "replace it with --force or choose another path with -o");
  refuse_file_of_others(path);
  if (kind == FileKind::kEmpty) check_side_files(path);
}

OutputFile::OutputFile(std::string path, bool force)
    : path_(std::move(path)), temporary_(path_ + ".tmp"), force_(force) {
  check(path_, force_);
  lock();
}

void OutputFile::fail(const char* what) const {
  const int code = errno;
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
  throw Error(full ? ErrorCode::kStoreWrite : ErrorCode::kOutputPlace,
              fmt::format("cannot write \"{}\": {} \"{}\": {}", path_, what, temporary_, std::strerror(code)),
              full ? "free space or raise the quota there, or choose another folder with -o"
                   : "choose a folder that you may write to with -o");
}

// A new file, or what a crash left of one: a file of this user under this name alone. -1, with errno: EAGAIN when
// it went meanwhile, else none can be made.
int OutputFile::open_temporary() const {
  const int made = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (made >= 0 || errno != EEXIST) return made;
  const int fd = ::open(temporary_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENOENT) {
    errno = EAGAIN;
    return fd;
  }
  struct stat status = {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      status.st_nlink <= 1 && (status.st_size == 0 || kind_of_content(fd) == FileKind::kStore))
    return fd;
  if (fd >= 0) ::close(fd);
  throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is in the way and not known to be ours", temporary_),
              "remove it or choose another path with -o");
}

void OutputFile::lock() {
  // The file may be renamed or removed by the run that holds it between our opening and our locking it; then what we
  // locked is not what the name means, and we look again.
  for (;;) {
    const int fd = open_temporary();
    if (fd < 0 && errno == EAGAIN) continue;
    if (fd < 0) fail("cannot create");
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int code = errno;
      ::close(fd);
      if (code == EWOULDBLOCK)
        throw Error(ErrorCode::kStoreBusy, fmt::format("another run is writing \"{}\"", path_),
                    "wait for it or choose another path with -o");
      errno = code;
      fail("cannot lock");
    }
    if (names_file(temporary_, fd)) {
      if (::ftruncate(fd, 0) == 0) {
        fd_ = fd;
        return;
      }
      const int code = errno;
      ::close(fd);
      errno = code;
      fail("cannot empty");
    }
    ::close(fd);
  }
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  if (names_file(temporary_, fd_))
    ::unlink(temporary_.c_str());  // before the lock goes, so that nobody else's file is removed
  ::close(fd_);
}

std::string OutputFile::held_path() const { return fmt::format("/proc/self/fd/{}", fd_); }

void OutputFile::clear() {
  if (::ftruncate(fd_, 0) != 0) fail("cannot empty");
}

void OutputFile::rename_into_place() {
  if (!names_file(temporary_, fd_))
    throw Error(ErrorCode::kStoreWrite,
                fmt::format("cannot write \"{}\": \"{}\" was replaced by another file", path_, temporary_),
                "choose a folder that others cannot write to with -o");
  if (force_) {
    // OUT may have been replaced since it was looked at.
    check(path_, force_);
    for (const char* suffix : kSideFiles) ::unlink((path_ + suffix).c_str());
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename");
    return;
  }
  check_side_files(path_);
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) {  // a file system that cannot: a hard link never replaces either
    if (::link(temporary_.c_str(), path_.c_str()) == 0) {
      ::unlink(temporary_.c_str());
      return;
    }
    if (errno == EPERM || errno == ENOTSUP) {  // nor links (FAT): look, then rename
      check(path_, false);
      if (::rename(temporary_.c_str(), path_.c_str()) == 0) return;
    }
  }
  if (errno == EEXIST) check(path_, false);
  fail("cannot rename");
}

void OutputFile::commit() {
  if (!append_page_checksums(fd_)) fail("cannot write the checksums of");
  if (::fsync(fd_) != 0) fail("cannot sync");
  rename_into_place();
  sync_folder_of(path_);
  ::close(fd_);
  fd_ = -1;
}

}  // namespace spscope
