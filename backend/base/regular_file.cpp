#include "backend/base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace spscope {
namespace {

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISFIFO(mode)) return "it is a named pipe";
  if (S_ISSOCK(mode)) return "it is a socket";
  return "it is a device";
}

}  // namespace

RegularFile::RegularFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat status = {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    reason_ = std::generic_category().message(errno);
  } else if (!S_ISREG(status.st_mode)) {
    reason_ = kind_of(status.st_mode);
  } else {
    is_ours_ = status.st_uid == ::geteuid();
    return;
  }
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string RegularFile::read_at(std::size_t offset, std::size_t most) const {
  std::string text(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t n = ::pread(descriptor_, text.data() + done, most - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

std::optional<std::string> RegularFile::read(std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      reason_ = std::generic_category().message(errno);
      return std::nullopt;
    }
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > most) {
      reason_ = fmt::format("it has more than {} bytes", most);
      return std::nullopt;
    }
  }
}

int RegularFile::release() { return std::exchange(descriptor_, -1); }

}  // namespace spscope
