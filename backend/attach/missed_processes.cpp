#include "backend/attach/missed_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "backend/base/regular_file.h"
#include "backend/base/utf8.h"

namespace spscope {
namespace {

constexpr int kRoomBytes = 4096;  // taken before the disk is full
constexpr std::size_t kMostBytes = 256 << 10;

std::string path_in(const CollectingNote& note) { return fmt::format("{}/{}.missed", note.folder, note.stem); }

}  // namespace

std::string make_missed_file(const CollectingNote& note) {
  std::string path = path_in(note);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return path;
  static_cast<void>(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kRoomBytes));
  ::close(fd);
  return path;
}

std::vector<std::string> missed_processes(const CollectingNote& note) {
  const RegularFile file(path_in(note));
  std::istringstream lines(file.is_open() ? file.read_at(0, kMostBytes) : "");
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    int pid = 0;
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + space, pid);
    if (error == std::errc() && end == line.data() + space && space < line.size())
      names.push_back(fmt::format("{} (process {})", clean_text(line.substr(space + 1)).text, pid));
  }
  return names;
}

}  // namespace spscope
