// Reading and replacing small text files.
#include "backend/config/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace spscope {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // Closes now, so that an error of a delayed write is seen; false then.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

Error unreadable(const std::string& path, std::string_view why) {
  return Error({Problem{ErrorCode::kConfigFile, "", fmt::format("cannot read the file: {}", why), "", {path}}});
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return unreadable(path, reason(errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) return unreadable(path, "it is a folder");
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(path, reason(errno));
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_bytes) return unreadable(path, fmt::format("it has more than {} bytes", max_bytes));
  }
}

void write_text_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  bool written = file.get() >= 0;
  int error = errno;
  if (written) {
    written = write_all(file.get(), text) && ::fsync(file.get()) == 0;
    if (!written) error = errno;
    if (!file.close() && written) written = false, error = errno;
    if (written && std::rename(temporary.c_str(), path.c_str()) != 0) written = false, error = errno;
    if (!written) ::unlink(temporary.c_str());
  }
  if (!written)
    throw Error(ErrorCode::kStoreWrite, fmt::format("cannot write the file: {}: {}", reason(error), path),
                "choose a folder that exists and is writable");
}

}  // namespace spscope
