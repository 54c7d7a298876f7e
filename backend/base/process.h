// What the system says about processes: whether one is there, whether it runs, waits or was stopped, whose child it is,
// and how much memory its group may use.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace spscope {

struct ProcessFacts {
  char state = 'R';               // as in proc(5): R runs, S and D wait, T and t are stopped, Z has ended
  std::uint64_t start_ticks = 0;  // since boot; with the pid it names a process for good
  std::int64_t cpu_ns = 0;        // used by all its threads
  int parent = 0;                 // its parent's pid
  // By a signal or a debugger: it goes on after SIGCONT.
  bool stopped() const { return state == 'T' || state == 't'; }
};
// Nothing when there is no such process.
std::optional<ProcessFacts> read_process(int pid);
// Whether a thread of the process, not the caller's, computes: for 200 ms, of the time in which it did not have to wait
// for a core, it used much, however busy the machine is. Nothing when the system does not say.
std::optional<bool> computes(int pid);
// Processes whose parent this is, those that have ended and were not asked for included.
std::vector<int> children_of(int pid);
// The same with their children, and so on; in no order.
std::vector<int> descendants_of(int pid);
// A variable of a process's environment as it was when its program started; "" when it is not set or may not be read.
std::string variable_of(int pid, const std::string& name);

// A limit of the system with what sets it: "/proc/sys/kernel/pid_max", "ulimit -d".
struct SystemLimit {
  std::int64_t value = std::numeric_limits<std::int64_t>::max();
  std::string source;
};
// How many threads there may be here, over all processes, and how many bytes of memory this process may still get. The
// lowest of what the system, the user's limits and the control group say.
SystemLimit thread_limit();
SystemLimit memory_left();

// The memory of this process's control group, of cgroup 2 or 1.
struct MemoryGroup {
  std::string path;              // its folder; "" when the system does not say
  std::int64_t limit_bytes = 0;  // 0: none is known
  std::int64_t oom_kills = -1;   // how often a process of it was ended because the memory was full; -1: not known
};
// `root` is the folder under which proc and sys lie: another one for tests.
MemoryGroup read_memory_group(const std::string& root = "");

}  // namespace spscope
