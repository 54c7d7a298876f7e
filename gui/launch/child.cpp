#include "gui/launch/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>

#include "backend/base/error.h"

namespace spscope::gui {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(5);

int memory_file(const char* name) {
  const int file = ::memfd_create(name, MFD_CLOEXEC);
  if (file >= 0) ::fcntl(file, F_SETFL, O_APPEND);
  return file;
}

// What a child must not inherit: signals that the window blocks or ignores, its files, its process group.
class SpawnSettings {
 public:
  SpawnSettings(int output, int errors) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

std::string end_text(const ChildEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.code);
  return fmt::format("signal {} ({})", end.signal, ::strsignal(end.signal));
}

Child::Child(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  output_.file = memory_file("spscope-output");
  errors_.file = memory_file("spscope-errors");
  int fault = output_.file < 0 || errors_.file < 0 ? errno : 0;
  if (fault == 0) {
    const SpawnSettings settings(output_.file, errors_.file);
    fault = ::posix_spawnp(&pid_, words[0], &settings.files, &settings.attributes, words.data(), environ);
  }
  if (fault == 0) return;
  for (const Stream* stream : {&output_, &errors_})
    if (stream->file >= 0) ::close(stream->file);
  throw Error(ErrorCode::kLaunch, fmt::format("\"{}\" cannot be started: {}", arguments[0], std::strerror(fault)),
              "install spscope beside spscope-gui, or put its folder on the PATH");
}

Child::~Child() {
  poll();
  for (const Stream* stream : {&output_, &errors_}) ::close(stream->file);
}

bool Child::Stream::read() {
  const std::size_t before = text.size();
  std::array<char, 16384> part;
  for (;;) {
    const ssize_t got = ::pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text.size() != before;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

bool Child::poll() {
  if (end_) return false;
  int status = 0;
  const bool ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
  if (ended && WIFSIGNALED(status)) {
    end_ = ChildEnd{128 + WTERMSIG(status), WTERMSIG(status)};
  } else if (ended) {
    end_ = ChildEnd{WEXITSTATUS(status), 0};
  }
  const bool wrote = output_.read(), said = errors_.read();  // after its end: nothing is missed
  return ended || wrote || said;
}

void Child::signal(int number) const {
  if (!end_) ::kill(pid_, number);  // it was not waited for: the number is still its own
}

ChildResult run_child(const std::vector<std::string>& arguments, const Cancelled& cancelled) {
  Child child(arguments);
  for (bool stopped = false; child.poll(), !child.end(); std::this_thread::sleep_for(kLookEvery)) {
    if (!cancelled.is_cancelled() || stopped) continue;
    child.signal(SIGTERM);
    stopped = true;
  }
  return {*child.end(), child.output(), child.errors()};
}

std::string last_words(const std::string& text, int count) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty() && line[0] != '{') lines.push_back(line);
  std::string words;
  const std::size_t from = lines.size() - std::min(lines.size(), static_cast<std::size_t>(count));
  for (std::size_t i = from; i < lines.size(); ++i) words += (words.empty() ? "" : "\n") + lines[i];
  return words;
}

}  // namespace spscope::gui
