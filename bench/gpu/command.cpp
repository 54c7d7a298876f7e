#include "bench/gpu/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/error.h"

extern char** environ;

namespace spscope::gpu_check {
namespace {

// What posix_spawn does in the child before the program starts.
class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // A Conversation ignores it in this process.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

constexpr int kToFile = O_WRONLY | O_CREAT | O_TRUNC;

// 0 or an error number.
int start(const std::vector<std::string>& command, SpawnSetup& setup, pid_t& pid) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return posix_spawnp(&pid, arguments[0], &setup.actions, &setup.attributes, arguments.data(), environ);
}

[[noreturn]] void cannot_start(const std::string& program, int error) {
  throw Error(ErrorCode::kUnavailable, fmt::format("\"{}\" cannot be started: {}", program, std::strerror(error)));
}

// Of a process that was killed. False: it has not ended within kDyingSeconds.
bool wait_for_death(pid_t pid, int& status) {
  constexpr double kDyingSeconds = 10;
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(kDyingSeconds * 1e9);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (now_ns() >= end_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

CommandEnd run_command(const std::vector<std::string>& command, const CommandOptions& options) {
  SpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, STDOUT_FILENO, options.output.c_str(), kToFile, 0644);
  if (options.error.empty())
    posix_spawn_file_actions_adddup2(&setup.actions, STDOUT_FILENO, STDERR_FILENO);
  else
    posix_spawn_file_actions_addopen(&setup.actions, STDERR_FILENO, options.error.c_str(), kToFile, 0644);
  if (options.own_group) posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  if (const int error = start(command, setup, pid); error == ENOENT)
    return {.found = false};
  else if (error != 0)
    cannot_start(command.front(), error);
  const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(options.timeout_s * 1e9);
  CommandEnd end;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const bool stopping = options.stopping != nullptr && options.stopping->load();
    end.timed_out = now_ns() >= end_ns;
    if (stopping || end.timed_out) {
      kill(options.own_group ? -pid : pid, SIGKILL);
      end.hangs = !wait_for_death(pid, status);
      if (end.hangs) return end;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  end.exit_code = exit_code_of(status);
  return end;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string tail_of(const std::string& path, std::size_t num_bytes) {
  std::string text = text_of(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text.size() > num_bytes ? text.substr(text.size() - num_bytes) : text;
}

Conversation::Conversation(const std::vector<std::string>& command, const std::string& error_file) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) cannot_start(command.front(), errno);
  SpawnSetup setup;
  posix_spawn_file_actions_adddup2(&setup.actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, from[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&setup.actions, STDERR_FILENO, error_file.c_str(), kToFile, 0644);
  const int error = start(command, setup, pid_);
  close(to[0]);
  close(from[1]);
  input_ = to[1];
  output_ = from[0];
  // A peer that has ended is seen by the line that does not come.
  std::signal(SIGPIPE, SIG_IGN);
  if (error == 0) return;
  close(input_);
  close(output_);
  cannot_start(command.front(), error);
}

Conversation::~Conversation() {
  close(input_);
  close(output_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::string Conversation::end_if_ended() { return take_end(WNOHANG); }

std::string Conversation::take_end(int wait_flags) {
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, wait_flags) == pid_) {
    pid_ = -1;
    end_ = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                               : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return end_;
}

std::optional<std::string> Conversation::read_line() {
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    char bytes[4096];
    const ssize_t count = read(output_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      take_end(0);
      return std::nullopt;
    }
    pending_.append(bytes, static_cast<std::size_t>(count));
  }
}

void Conversation::write_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = write(input_, text.data() + sent, text.size() - sent);
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

}  // namespace spscope::gpu_check
