#include "backend/base/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/base/own_files.h"

namespace spscope {

void refuse_dash(const std::string& path) {
  if (path == "-")
    throw Error(ErrorCode::kOutputPlace, "this output cannot be standard output, which \"-\" stands for",
                "name a file; ./- is one of that name");
}

WholeFile::WholeFile(std::string path) : path_(std::move(path)) {
  refuse_dash(path_);
  // A rename would take the place of /dev/null for everybody.
  std::error_code unknown;
  if (std::filesystem::is_other(path_, unknown))
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot write \"{}\": it is a device or a pipe, and no file", path_),
                "choose the name of a file in an existing, writable folder");
  constexpr int kNames = 100;  // taken only by what earlier processes of this id left when they were killed
  for (int i = 0; i < kNames; ++i) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), i);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  fail();
}

WholeFile::~WholeFile() {
  if (descriptor_ < 0) return;
  if (names_file(temporary_, descriptor_)) ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void WholeFile::fail() const {
  const int code = errno;
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
  throw Error(full ? ErrorCode::kStoreWrite : ErrorCode::kOutputPlace,
              fmt::format("cannot write \"{}\": {}", path_, std::generic_category().message(code)),
              full ? "free space or raise the quota there, or choose another folder"
                   : "choose the name of a file in an existing, writable folder");
}

std::string WholeFile::held_path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

void WholeFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void WholeFile::commit() {
  SPSCOPE_CHECK(descriptor_ >= 0);
  if (::fsync(descriptor_) != 0) fail();
  publish();
  sync_folder_of(path_);
}

void WholeFile::publish() {
  SPSCOPE_CHECK(descriptor_ >= 0);
  if (!names_file(temporary_, descriptor_)) {
    errno = ENOENT;  // somebody else has removed or replaced it
    fail();
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  ::close(std::exchange(descriptor_, -1));
}

void require_writable(const std::string& path) { const WholeFile unwritten(path); }

void require_folder(const std::string& path, std::string_view flag) {
  std::error_code unknown;
  std::filesystem::path nearest = std::filesystem::absolute(path);
  while (!std::filesystem::exists(nearest, unknown) && nearest.has_relative_path()) nearest = nearest.parent_path();
  if (!std::filesystem::is_directory(nearest, unknown))
    errno = ENOTDIR;
  else if (::access(nearest.c_str(), W_OK | X_OK) == 0)
    return;
  throw Error(ErrorCode::kOutputPlace,
              fmt::format("cannot write into the folder \"{}\": {}", path, std::generic_category().message(errno)),
              fmt::format("choose a folder that can be made or written with {}", flag));
}

void write_whole_file(const std::string& path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  file.commit();
}

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace spscope
