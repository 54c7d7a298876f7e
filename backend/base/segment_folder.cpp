#include "backend/base/segment_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "backend/base/own_files.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

// Not that of the folders of collections, which outlive their processes and may lie in /dev/shm as well.
constexpr const char* kPrefix = "spscope_segments-";

// A descriptor that holds the lock of the folder; -1: somebody else holds it, or it is gone or not ours.
int lock_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && names_file(path, fd) && is_own_folder(path)) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

void SegmentFolder::remove_abandoned(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path();
    if (!it->path().filename().string().starts_with(kPrefix) || !is_own_folder(path)) continue;
    const int fd = lock_folder(path);
    if (fd < 0) continue;
    remove_own_folder(path);
    ::close(fd);
  }
}

SegmentFolder::SegmentFolder(const std::string& parent) {
  remove_abandoned(parent);
  // Another process may remove a new folder before it is locked.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && lock_ < 0; ++i) {
    const std::optional<std::string> made = make_own_folder(parent + "/" + kPrefix);
    if (!made) return;
    lock_ = lock_folder(*made);
    if (lock_ >= 0) path_ = *made;
  }
}

SegmentFolder::~SegmentFolder() {
  if (lock_ < 0) return;
  remove_own_folder(path_);
  ::close(lock_);
}

}  // namespace spscope
