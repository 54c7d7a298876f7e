// The number of cores that this process may use, which decides whether ranks share cores (oversubscribed timing).
#pragma once

namespace spscope {

// Cores of the affinity mask (taskset, a Slurm cpuset), at most the CPU quota of the control group (containers),
// rounded up; at least 1.
int usable_cores();

}  // namespace spscope
