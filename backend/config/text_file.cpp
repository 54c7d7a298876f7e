#include "backend/config/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
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

 private:
  int fd_;
};

std::string reason(int error) { return std::generic_category().message(error); }

Error unreadable(const std::string& path, std::string_view why) {
  std::error_code unknown;  // where there is no current folder any more
  const std::string looked_for = std::filesystem::absolute(path, unknown).lexically_normal().string();
  return Error({Problem{ErrorCode::kConfigFile,
                        "",
                        fmt::format("cannot read the file: {}", why),
                        fmt::format("give the path of a TOML file; {}relative ones start at the current folder, or "
                                    "that of the config",
                                    looked_for == path || unknown ? "" : "looked for " + looked_for + "; "),
                        {path}}});
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

}  // namespace spscope
