#include "backend/launch/mpi_leftovers.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/own_files.h"
#include "backend/base/process.h"
#include "backend/base/segment_folder.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobVariable = "PMIX_NAMESPACE";  // of a rank's process

// Takes those that have ended; false: no child is left.
bool reap() {
  for (;;) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return errno == EINTR;
    if (ended == 0) return true;
  }
}

}  // namespace

// A session is TMPDIR/ompi.HOST.UID/pid.MPIRUN. What is started as mpirun may be a script around it. All inherit the
// job that this process may itself be of.
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

bool runs_here(const MpiJob& job) {
  return std::ranges::any_of(descendants_of(::getpid()),
                             [&](int child) { return variable_of(child, kJobVariable) == job.number; });
}

Processes adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Processes known;
  for (const int pid : descendants_of(::getpid()))
    if (const std::optional<ProcessFacts> facts = read_process(pid)) known.emplace(pid, facts->start_ticks);
  return known;
}

void end_orphans(double seconds, const Processes& spared) {
  constexpr auto kPoll = std::chrono::milliseconds(10);
  const std::int64_t begin_ns = now_ns();
  while (reap()) {
    std::vector<int> orphans = children_of(::getpid());
    std::erase_if(orphans, [&](int child) {
      const std::optional<ProcessFacts> facts = read_process(child);
      return facts && spared.contains({child, facts->start_ticks});
    });
    if (orphans.empty()) return;
    if (static_cast<double>(now_ns() - begin_ns) * 1e-9 > seconds)
      for (const int orphan : orphans) ::kill(orphan, SIGKILL);
    std::this_thread::sleep_for(kPoll);
  }
}

void remove_leftovers(const MpiJob& job) {
  std::error_code ignored;
  if (!job.session.empty()) {
    remove_own_folder(job.session);
    fs::remove(fs::path(job.session).parent_path(), ignored);  // unless another mpirun has its session there
  }
  SegmentFolder::remove_abandoned();
}

}  // namespace spscope
