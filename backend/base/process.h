// Processes as Linux reports them in /proc: state, parent, children, CPU time and environment; and the limits on
// threads and memory that apply to this one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spscope {

struct ProcessFacts {
  char state = 'R';               // as in proc(5): R running, S and D waiting, T and t stopped, Z ended
  std::uint64_t start_ticks = 0;  // since boot; (pid, start_ticks) is never reused
  std::int64_t cpu_ns = 0;        // used by all its threads
  int parent = 0;                 // its parent's pid
  // By a signal or a debugger; SIGCONT resumes it.
  bool stopped() const { return state == 'T' || state == 't'; }
};
// nullopt when there is no such process.
std::optional<ProcessFacts> read_process(int pid);
// By process, whether any of its threads, except the calling one, is computing. Takes 200 ms: a thread computes when it
// ran for more than a quarter of the time that it did not spend waiting for a core, so that load of other programs does
// not matter. nullopt when /proc has no scheduling statistics of the process.
std::vector<std::optional<bool>> which_compute(std::span<const int> pids);
// Direct children, ended ones that were not waited for included.
std::vector<int> children_of(int pid);
// Children, their children, and so on; unordered.
std::vector<int> descendants_of(int pid);
// A variable of a process's environment as it was when its program started; "" when it is unset or not readable.
std::string variable_of(int pid, const std::string& name);

// A system limit with its source: "/proc/sys/kernel/pid_max", "ulimit -d".
struct SystemLimit {
  std::int64_t value = std::numeric_limits<std::int64_t>::max();
  std::string source;
};
// The number of threads allowed over all processes, and the bytes of memory that this process can still allocate: the
// lowest of the limits of the system, the user and the control group.
SystemLimit thread_limit();
SystemLimit memory_left();

// The memory of this process's control group, of cgroup 2 or 1.
struct MemoryGroup {
  std::string path;              // its folder; "" when there is none
  std::int64_t limit_bytes = 0;  // 0: no limit, or unknown
  std::int64_t oom_kills = -1;   // processes of it that the OOM killer ended; -1: unknown
};
// `root` holds the folders proc and sys; tests pass one of their own.
MemoryGroup read_memory_group(const std::string& root = "");

}  // namespace spscope
