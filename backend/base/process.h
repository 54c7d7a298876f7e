// What the system says about a process: whether it is there, and whether it runs, waits or was stopped.
#pragma once

#include <cstdint>
#include <optional>

namespace spscope {

struct ProcessFacts {
  char state = 'R';               // as in proc(5): R runs, S and D wait, T and t are stopped, Z has ended
  std::uint64_t start_ticks = 0;  // since boot; with the pid it names a process for good
  std::int64_t cpu_ns = 0;        // used by all its threads
};
// Nothing when there is no such process.
std::optional<ProcessFacts> read_process(int pid);

// How often the system has ended processes of this control group because its memory was full; -1 when it does not say.
std::int64_t count_oom_kills();

}  // namespace spscope
