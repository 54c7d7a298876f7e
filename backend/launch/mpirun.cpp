#include "backend/launch/mpirun.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/own_files.h"
#include "backend/base/process.h"
#include "backend/base/segment_folder.h"
#include "backend/config/environment.h"

namespace spscope {
namespace {

// mpirun ends with this plus the signal that killed a rank; what lies above is of its own.
constexpr int kSignalBase = 128, kLastSignal = 64;
constexpr int kUnknownEnd = 1 << 8;  // a status of waitpid: exit code 1
constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr double kStepSeconds = 10;   // from asking the ranks to end to telling them, and from there to killing them
constexpr double kOrphanSeconds = 2;  // for ranks to notice that mpirun is gone
constexpr const char* kJobVariable = "PMIX_NAMESPACE";  // of a rank's process

pid_t spawn(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t usual;  // signals that this process ignores
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGCHLD}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    throw Error(ErrorCode::kLaunch, fmt::format("{} cannot be started: {}", command.front(), std::strerror(failure)),
                "use --launcher threads");
  return child;
}

// The job of the ranks that mpirun started on this host, as their environment names it.
struct MpiJob {
  std::string number;   // decimal; "": no rank has started yet
  std::string session;  // TMPDIR/ompi.HOST.UID/pid.MPIRUN, for the files of this mpirun; "" when it is not known
};

// What is started as mpirun may be a script around it. All inherit the job that this process may itself be of.
MpiJob mpi_job_of(int mpirun) {
  const std::string outer = variable_of(::getpid(), kJobVariable);
  for (const int child : descendants_of(mpirun)) {
    MpiJob job{variable_of(child, kJobVariable), variable_of(child, "OMPI_MCA_orte_jobfam_session_dir")};
    const std::optional<ProcessFacts> facts = read_process(child);
    if (!facts || !job.session.ends_with(fmt::format("/pid.{}", facts->parent))) job.session.clear();
    if (!job.number.empty() && job.number != outer) return job;
  }
  return {};
}

// Whether a process of the job still runs. One that has ended does not, whether its parent knows or not.
bool runs_here(const MpiJob& job) {
  return std::ranges::any_of(descendants_of(::getpid()),
                             [&](int child) { return variable_of(child, kJobVariable) == job.number; });
}

// What Open MPI leaves here when it cannot clean up: when mpirun is killed, say. REQUIRES: mpirun and its ranks ended.
void remove_leftovers(const MpiJob& job) {
  std::error_code ignored;
  remove_own_folder(job.session);
  std::filesystem::remove(std::filesystem::path(job.session).parent_path(), ignored);  // unless there are others in it
  SegmentFolder::remove_abandoned();
}

// Processes by pid and by when they started.
using Processes = std::set<std::pair<int, std::uint64_t>>;

// From now on ranks whose mpirun is gone become children of this process. What is below it already is returned: a shell
// that runs a program in its own place leaves it its children.
Processes adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Processes known;
  for (const int pid : descendants_of(::getpid()))
    if (const std::optional<ProcessFacts> facts = read_process(pid)) known.emplace(pid, facts->start_ticks);
  return known;
}

// Takes those that have ended; false: no child is left.
bool reap() {
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return errno == EINTR;
    if (ended == 0) return true;
  }
}

// Ends every child that this process still has, but `spared`. They get some time to end by themselves.
void end_orphans(const Processes& spared) {
  const std::int64_t begin_ns = now_ns();
  while (reap()) {
    std::vector<int> orphans = children_of(::getpid());
    std::erase_if(orphans, [&](int child) {
      const std::optional<ProcessFacts> facts = read_process(child);
      return facts && spared.contains({child, facts->start_ticks});
    });
    if (orphans.empty()) return;
    if (static_cast<double>(now_ns() - begin_ns) * 1e-9 > kOrphanSeconds)
      for (const int orphan : orphans) ::kill(orphan, SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
}

// Whether all ranks of this host have ended, for so long that mpirun will not.
class Silence {
 public:
  explicit Silence(const MpiLaunch& launch) : launch_(launch) {}
  bool over(const MpiJob& job) {
    const std::int64_t now = now_ns();
    if (job.number.empty() || now - looked_ns_ < kEveryNs) return false;
    looked_ns_ = now;
    if (since_ns_ == 0 || runs_here(job)) since_ns_ = now;
    const double seconds = static_cast<double>(now - since_ns_) * 1e-9;
    return seconds > launch_.alone_seconds &&
           (seconds > launch_.others_seconds || !launch_.others_work || !launch_.others_work());
  }

 private:
  static constexpr std::int64_t kEveryNs = 500'000'000;
  const MpiLaunch& launch_;
  std::int64_t since_ns_ = 0, looked_ns_ = 0;
};

// With what it started: it leads a group of processes. Waits for it.
void kill_mpirun(pid_t mpirun) {
  int status = 0;
  kill(-mpirun, SIGTERM);
  for (const std::int64_t begin_ns = now_ns(); static_cast<double>(now_ns() - begin_ns) * 1e-9 < kOrphanSeconds;) {
    if (waitpid(mpirun, &status, WNOHANG) != 0) break;
    std::this_thread::sleep_for(kPoll);
  }
  if (kill(-mpirun, SIGKILL) == 0) waitpid(mpirun, &status, 0);  // ECHILD when it has ended
}

// Ends ranks that do not end: asks them, tells mpirun to end them, kills mpirun, a step at each call that is due.
class Ending {
 public:
  explicit Ending(pid_t mpirun) : mpirun_(mpirun) {}
  void ask() {
    if (step_ == 0) next();
  }
  void press() {
    if (step_ == 0 || (step_ < std::ssize(kSteps) && static_cast<double>(now_ns() - since_ns_) * 1e-9 > kStepSeconds))
      next();
  }

 private:
  static constexpr std::array kSteps = {SIGUSR1, SIGTERM, SIGKILL};  // mpirun passes the first one on to every rank
  void next() {
    kill(mpirun_, kSteps[static_cast<std::size_t>(step_++)]);
    since_ns_ = now_ns();
  }
  const pid_t mpirun_;
  int step_ = 0;
  std::int64_t since_ns_ = 0;
};

}  // namespace

void require_mpirun() {
  const auto require = [](const char* program, const char* package) {
    if (has_program(program)) return;
    throw Error(ErrorCode::kLaunch, fmt::format("{} is not on the PATH", program),
                fmt::format("install {}, or use --launcher threads", package));
  };
  require("mpirun", "openmpi-bin");
  require("setpriv", "util-linux");
}

// setpriv: mpirun ends its ranks when this process is killed. Ranks are not bound to cores: each has a thread that
// computes and others that communicate. Their bulk data does not pass through MPI inside a host, and the kernel's way
// to copy between processes is forbidden in most containers.
std::vector<std::string> mpirun_command(const MpiLaunch& launch) {
  std::vector<std::string> command = {"setpriv", "--pdeathsig", "TERM", "mpirun", "--quiet", "--stdin", "none"};
  if (launch.root) command.emplace_back("--allow-run-as-root");
  for (const char* word : {"--oversubscribe", "--bind-to", "none", "--mca", "btl_vader_single_copy_mechanism", "none"})
    command.emplace_back(word);
  command.insert(command.end(), {"-n", std::to_string(launch.ranks), launch.program});
  command.insert(command.end(), launch.arguments.begin(), launch.arguments.end());
  return command;
}

LaunchEnd run_mpirun(const MpiLaunch& launch, const std::atomic<bool>& stop, const std::function<bool()>& meanwhile) {
  const Processes known = adopt_orphans();
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as daemons hand it on, the end of a child cannot be asked for
  const pid_t child = spawn(mpirun_command(launch));
  Ending ending(child);
  MpiJob job;
  Silence silence(launch);
  LaunchEnd end;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) {  // somebody else took its end: what it left counts all the same
      status = kUnknownEnd;
      break;
    }
    if (job.number.empty()) job = mpi_job_of(child);
    if (stop.load()) ending.ask();
    if (!meanwhile()) ending.press();
    if (silence.over(job)) {
      end.mpirun_hung = true;
      kill_mpirun(child);
      break;
    }
    std::this_thread::sleep_for(kPoll);
  }
  end_orphans(known);
  remove_leftovers(job);
  if (end.mpirun_hung) return end;
  end.mpirun_died = WIFSIGNALED(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (end.exit_code > kSignalBase && end.exit_code <= kSignalBase + kLastSignal)
    end.signal = end.exit_code - kSignalBase;
  return end;
}

std::string path_of_this_program() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure)
    throw Error(ErrorCode::kLaunch, "the path of this program is not known: " + failure.message(),
                "is /proc mounted here?");
  return path.string();
}

}  // namespace spscope
