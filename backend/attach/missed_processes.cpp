#include "backend/attach/missed_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/base/errno_remedy.h"
#include "backend/base/regular_file.h"
#include "backend/base/utf8.h"

namespace spscope {
namespace {

constexpr int kRoomBytes = 4096;          // taken before the disk is full
constexpr std::size_t kMostOfName = 200;  // in an incident
constexpr std::size_t kMostBytes = 64 << 20, kPieceBytes = 64 << 10;

std::string path_in(const CollectingNote& note) { return fmt::format("{}/{}.missed", note.folder, note.stem); }

std::string why_missed(int error) {
  if (error == EAGAIN || error == EINTR)
    return "it waited 5 s and nobody heard it; attach was stopped, or too many asked at once";
  if (error == ECONNREFUSED)
    return "nobody listened where it asked: it is in another network namespace; start attach in that namespace";
  const std::string remedy = remedy_of(error);
  return fmt::format("it could not ask attach: {}{}{}", std::strerror(error), remedy.empty() ? "" : "; ", remedy);
}

struct MissedProcess {
  std::string name, why;
};

// "4711 11 python"; nothing: it is no line of a process.
std::optional<MissedProcess> process_of(std::string_view line) {
  int pid = 0, error = 0;
  const char* const end = line.data() + line.size();
  const auto [after_pid, no_pid] = std::from_chars(line.data(), end, pid);
  if (no_pid != std::errc() || after_pid == end || *after_pid != ' ') return std::nullopt;
  const auto [after_error, no_error] = std::from_chars(after_pid + 1, end, error);
  if (no_error != std::errc() || after_error == end || *after_error != ' ') return std::nullopt;
  const std::string name = clean_text(std::string(after_error + 1, end)).text;
  return MissedProcess{fmt::format("{} (process {})", name, pid), why_missed(error)};
}

}  // namespace

std::string make_missed_file(const CollectingNote& note) {
  const std::string path = path_in(note);
  struct stat of = {};
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return "";
  static_cast<void>(::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kRoomBytes));
  const bool is_known = ::fstat(fd, &of) == 0;
  ::close(fd);
  return is_known ? fmt::format("{}:{}:{}", of.st_dev, of.st_ino, path) : "";
}

void for_each_missed(const CollectingNote& note,
                     const std::function<void(const std::string& process, const std::string& why)>& take) {
  const RegularFile file(path_in(note));
  std::string rest;  // of a line whose end is in the next piece
  for (std::size_t offset = 0; file.is_open() && offset < kMostBytes; offset += kPieceBytes) {
    const std::string piece = file.read_at(offset, kPieceBytes);
    rest += piece;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (const std::optional<MissedProcess> process = process_of(std::string_view(rest).substr(begin, end - begin)))
        take(process->name, process->why);
    rest.erase(0, begin);
    if (rest.size() > kPieceBytes) rest.clear();  // no process wrote such a line
    if (piece.size() < kPieceBytes) break;
  }
}

void NotCollected::add(const std::string& process, const std::string& why) {
  const auto known = std::ranges::find(reasons_, why, &Reason::why);
  if (known != reasons_.end())
    ++known->others;
  else if (reasons_.size() < kMostReasons)
    reasons_.push_back({.why = why, .first = std::string(first_characters(process, kMostOfName))});
  else
    ++of_other_reasons_;
}

std::vector<IncidentRecord> NotCollected::incidents() const {
  std::vector<IncidentRecord> incidents;
  const auto add = [&](std::string text) {
    IncidentRecord& incident = incidents.emplace_back();
    incident.kind = IncidentKind::kLost;
    incident.message = "attach did not collect " + std::move(text);
  };
  for (const Reason& reason : reasons_)
    add(fmt::format("{}{}: {}", reason.first,
                    reason.others > 0 ? fmt::format(", nor {} more like it", reason.others) : "", reason.why));
  if (of_other_reasons_ > 0) add(fmt::format("{} more, for other reasons", of_other_reasons_));
  return incidents;
}

std::vector<IncidentRecord> incidents_of_missed(const CollectingNote& note) {
  NotCollected missed;
  for_each_missed(note, [&](const std::string& process, const std::string& why) { missed.add(process, why); });
  return missed.incidents();
}

void remove_missed_file(const CollectingNote& note) { ::unlink(path_in(note).c_str()); }

}  // namespace spscope
