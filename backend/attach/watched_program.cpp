#include "backend/attach/watched_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "backend/base/error.h"
#include "backend/base/ignored_signals.h"

extern char** environ;  // NOLINT: POSIX declares it in no header

namespace spscope {
namespace {

// What somebody may send to a program that runs. SIGQUIT and SIGWINCH too: attach lives on, and the terminal sends them
// to the program itself.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

constexpr int kUnknownEnd = 1 << 8;  // a status of waitpid: exit code 1

// The environment of this process with some variables replaced.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool is_replaced = false;
    for (const auto& [name, value] : variables) is_replaced |= text.starts_with(name + "=");
    if (!is_replaced) entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Each process that collects takes four.
void raise_limit_of_files() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Of this process, as the program gets them.
struct SignalsBefore {
  sigset_t blocked;
  sighandler_t of_children;
};

// In the child of fork(): it becomes the program, or writes the errno to `told`.
[[noreturn]] void become(const char* path, char* const* command, char* const* environment, const SignalsBefore& before,
                         int told) {
  stop_ignoring_signals();
  ::signal(SIGCHLD, before.of_children);
  ::pthread_sigmask(SIG_SETMASK, &before.blocked, nullptr);
  ::execve(path, command, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(told, &error, sizeof error);
  ::_exit(EXIT_FAILURE);
}

// Starts it: 0, or the errno. posix_spawn() cannot: where SIGCHLD was ignored, the program is to ignore it, and this
// process is not, since the kernel would then keep no end of a child.
int start(const std::string& path, const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const SignalsBefore& before, pid_t& pid) {
  const std::vector<char*> words = pointers_to(command), variables = pointers_to(environment);
  int told[2];
  if (::pipe2(told, O_CLOEXEC) != 0) return errno;
  pid = ::fork();
  if (pid == 0) become(path.c_str(), words.data(), variables.data(), before, told[1]);
  int error = pid < 0 ? errno : 0;
  ::close(told[1]);
  // Nothing comes once it is the program.
  while (pid > 0 && ::read(told[0], &error, sizeof error) < 0 && errno == EINTR) continue;
  ::close(told[0]);
  if (pid > 0 && error != 0) ::waitpid(pid, nullptr, 0);
  return error;
}

Error not_started(const std::string& program, int error) {
  return Error(ErrorCode::kLaunch,
               fmt::format("the program could not be started: \"{}\": {}", program, std::strerror(error)),
               "give a program that is on the $PATH or its path, after --");
}

// The file that a shell would start. Throws Error(kLaunch): there is none.
std::string path_of(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(is_path ? ":" : std::string(path != nullptr ? path : "/bin:/usr/bin") + ":");
  int why = ENOENT;
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder.empty() ? name : folder + "/" + name;
    const bool is_folder = std::filesystem::is_directory(file, ignored);
    if (!is_folder && ::access(file.c_str(), X_OK) == 0) return file;
    if (is_folder || errno == EACCES || is_path) why = is_folder ? EACCES : errno;
  }
  throw not_started(name, why);
}

}  // namespace

void require_program(const std::string& name) { static_cast<void>(path_of(name)); }

WatchedProgram::WatchedProgram(const std::vector<std::string>& command,
                               const std::vector<std::pair<std::string, std::string>>& variables, int own_signal)
    : own_signal_(own_signal) {
  const std::string path = path_of(command.front());
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGCHLD);
  for (const int signal : kPassedOn) ::sigaddset(&taken, signal);
  SignalsBefore before;
  ::pthread_sigmask(SIG_BLOCK, &taken, &before.blocked);
  before.of_children = ::signal(SIGCHLD, SIG_DFL);
  signals_ = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  const int error = signals_ < 0 ? errno : start(path, command, environment_with(variables), before, pid_);
  if (error == 0) {
    raise_limit_of_files();
    return;
  }
  if (signals_ >= 0) ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before.blocked, nullptr);
  throw not_started(command.front(), error);
}

WatchedProgram::~WatchedProgram() { ::close(signals_); }

void WatchedProgram::answer_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == own_signal_) {
      ++own_signals_;
      continue;
    }
    // What the kernel sends, as for a key of the terminal, the program got itself.
    if (signal != SIGCHLD && info.ssi_code != SI_KERNEL && !has_ended()) ::kill(pid_, signal);
  }
  static_cast<void>(has_ended());
}

bool WatchedProgram::has_ended() {
  if (end_) return true;
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) end_ = status;
  if (ended < 0 && errno == ECHILD) end_ = kUnknownEnd;  // somebody else took its end, and its number may be another's
  return end_.has_value();
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : std::to_string(signal);
}

int end_like(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return exit_code_of(wait_status);
  const int signal = WTERMSIG(wait_status);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  sigset_t unblocked;
  ::sigemptyset(&unblocked);
  ::sigaddset(&unblocked, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
  ::raise(signal);
  return exit_code_of(wait_status);  // where raise() did nothing
}

}  // namespace spscope
