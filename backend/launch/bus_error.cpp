#include "backend/launch/bus_error.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace spscope {
namespace {

// Everything here but the last function runs in a signal handler: no memory is allocated, no lock taken.

// Lines of /proc/self/maps, one after the other.
class MapLines {
 public:
  MapLines() : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  // "" at the end. Holds until the next call.
  std::string_view next() {
    for (std::size_t length = 0;;) {
      if (at_ == size_) {
        const ssize_t got = ::read(fd_, part_.data(), part_.size());
        if (got <= 0) return {};
        at_ = 0;
        size_ = static_cast<std::size_t>(got);
      }
      const char c = part_[at_++];
      if (c == '\n') return {line_.data(), length};
      if (length < line_.size()) line_[length++] = c;
    }
  }

 private:
  const int fd_;
  std::array<char, 4096> part_{};
  std::array<char, 4352> line_{};
  std::size_t at_ = 0, size_ = 0;
};

// The file that is mapped at an address, of a line "from-to rwxp offset device inode  path"; "" when it is not this
// one.
std::string_view path_at(std::string_view line, std::uintptr_t address) {
  constexpr int kBase = 16;
  std::uintptr_t from = 0, to = 0;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, from, kBase);
  if (first.ptr == end || std::from_chars(first.ptr + 1, end, to, kBase).ec != std::errc()) return {};
  const std::size_t path = line.find('/');
  return from <= address && address < to && path != std::string_view::npos ? line.substr(path) : std::string_view();
}

void say(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody to tell
}

void say(std::uint64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  say(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void tell(std::string_view path) {
  const bool is_run = path.find("/spscope-") != std::string_view::npos;  // a folder of a collection
  std::array<char, 4352> name{};
  path.copy(name.data(), name.size() - 1);
  struct statvfs room {};
  const bool known = ::statvfs(name.data(), &room) == 0;
  say(is_run ? "\nerror SPS-154: \"" : "\nerror SPS-126: \"");
  say(path);
  say("\" is mapped, and a page of it cannot be had: the disk, or a quota, is full, the file was cut short, or it ");
  say("cannot be written");
  if (known) say("; "), say(std::uint64_t{room.f_bavail} * room.f_frsize), say(" bytes are free on its file system");
  if (!is_run) return say("\n  free space there, use fewer ranks a host, or --launcher threads\n");
  say("\n  free space there; unless the run still makes its file: spscope recover \"");
  say(path.substr(0, path.rfind('/')));
  say("\" -o FILE.db\n");
}

std::atomic<bool> told{false};

void on_bus_error(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0) {  // sent, as by kill
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // comes when this handler returns
    return;
  }
  MapLines lines;
  std::string_view line = lines.next(), path;
  while (!line.empty() && (path = path_at(line, reinterpret_cast<std::uintptr_t>(info->si_addr))).empty())
    line = lines.next();
  if (path.empty() || info->si_code != BUS_ADRERR) {
    ::signal(signal, SIG_DFL);  // another fault: it comes again when this handler returns
    return;
  }
  if (told.exchange(true))  // another thread tells it, and ends the process
    for (;;) ::pause();
  tell(path);
  constexpr int kExitFailed = 1;
  ::_exit(kExitFailed);
}

}  // namespace

void explain_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace spscope
