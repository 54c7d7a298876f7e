#include "backend/attach/watched_program.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "backend/base/error.h"

extern char** environ;  // NOLINT: POSIX declares it in no header

namespace spscope {
namespace {

// What somebody may send to a program that runs. SIGQUIT and SIGWINCH too: attach lives on, and the terminal sends them
// to the program itself.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

sigset_t set_by_us = {};  // signals that the program gets as before

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

}  // namespace

void ignore_failed_writes() {
  for (const int signal : {SIGPIPE, SIGXFSZ})
    if (::signal(signal, SIG_IGN) == SIG_DFL) ::sigaddset(&set_by_us, signal);
}

WatchedProgram::WatchedProgram(const std::vector<std::string>& command,
                               const std::vector<std::pair<std::string, std::string>>& variables, int own_signal)
    : own_signal_(own_signal) {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGCHLD);
  for (const int signal : kPassedOn) ::sigaddset(&taken, signal);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &taken, &before);
  signals_ = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  const std::vector<std::string> environment = environment_with(variables);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &before);
  ::posix_spawnattr_setsigdefault(&attributes, &set_by_us);
  const int error = signals_ < 0 ? errno
                                 : ::posix_spawnp(&pid_, command.front().c_str(), nullptr, &attributes,
                                                  pointers_to(command).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) {
    raise_limit_of_files();
    return;
  }
  if (signals_ >= 0) ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  throw Error(ErrorCode::kLaunch,
              fmt::format("the program could not be started: \"{}\": {}", command.front(), std::strerror(error)),
              "give a program that is on the $PATH or its path, after --");
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
    if (signal != SIGCHLD && info.ssi_code != SI_KERNEL && !end_) ::kill(pid_, signal);
  }
  int status = 0;
  if (!end_ && ::waitpid(pid_, &status, WNOHANG) == pid_) end_ = status;
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
