// Writes .npy: temporary file beside the target, fsync, rename, fsync of the folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/mask/array_file.h"
#include "backend/mask/npy_format.h"

namespace spscope {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Error(ErrorCode::kStoreWrite, fmt::format("cannot write \"{}\": {}", path, std::strerror(errno)),
              "check that the folder exists, is writable and has space");
}

// A file that disappears again unless it was put in place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target) {
    constexpr int kNames = 100;  // taken only by what earlier processes of this id left when they were killed
    for (int i = 0; i < kNames; ++i) {
      name_ = fmt::format("{}.tmp-{}-{}", target, getpid(), i);
      descriptor_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0) return;
      if (errno != EEXIST) break;
    }
    fail(target_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!placed_) unlink(name_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(target_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void place() {
    if (fsync(descriptor_) != 0) fail(target_);
    if (close(std::exchange(descriptor_, -1)) != 0) fail(target_);
    if (rename(name_.c_str(), target_.c_str()) != 0) fail(target_);
    placed_ = true;
    const std::string folder = std::filesystem::path(target_).parent_path().string();
    const int folder_descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (folder_descriptor < 0) return;  // the file is in place; only its survival of a power cut is not assured
    fsync(folder_descriptor);
    close(folder_descriptor);
  }

 private:
  std::string target_, name_;
  int descriptor_ = -1;
  bool placed_ = false;
};

}  // namespace

void write_npy(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  std::int64_t expected = element_bytes(type);
  for (std::int64_t extent : shape) expected *= extent;
  SPSCOPE_CHECK(expected == static_cast<std::int64_t>(bytes.size()));
  const std::string preamble = npy_preamble(type, shape);
  TemporaryFile file(path);
  file.write(std::as_bytes(std::span(preamble)));
  file.write(bytes);
  file.place();
}

}  // namespace spscope
