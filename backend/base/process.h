// Processes as Linux reports them in /proc: state, parent, children, threads, CPU time and environment; and the limits
// on threads and memory that apply to this one.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
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
// What a thread has used since it began: time on a core, and time in which it waited for one.
struct ThreadTimes {
  std::int64_t ran_ns = 0, waited_ns = 0;
};
// Of all threads of a process, by thread id; empty when there is no such process. A kernel without scheduling
// statistics gives CPU times in clock ticks and no waits. `root` holds the folder proc; tests pass one of their own.
std::map<int, ThreadTimes> read_threads(int pid, const std::string& root = "");
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
// Files that this process can still open.
std::int64_t descriptors_left();

// The memory of this process's control group, of cgroup 2 or 1.
struct MemoryGroup {
  std::string path;              // its folder; "" when there is none
  std::int64_t limit_bytes = 0;  // 0: no limit, or unknown
  std::int64_t oom_kills = -1;   // processes of it that the OOM killer ended; -1: unknown
};
// `root` holds the folders proc and sys; tests pass one of their own.
MemoryGroup read_memory_group(const std::string& root = "");

}  // namespace spscope
