// Launches of emulated kernels: blocks one after the other on the calling thread.
#include <fmt/format.h>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/emulated.h"

namespace spscope::kernels::cuda {

void launch_emulated(const EmulatedKernel& kernel, Grid grid, Grid block, std::size_t shared_bytes, void** arguments) {
  if (grid.x < 1 || grid.y != 1 || grid.z != 1)
    throw EmulationFault(fmt::format("kernel {}: a grid of {} x {} x {} blocks; kernels here have a grid in x alone",
                                     kernel.name, grid.x, grid.y, grid.z));
  if (block.x < 1 || block.y != 1 || block.z != 1 || block.x > kernel.max_threads || block.x % 32 != 0)
    throw EmulationFault(fmt::format("kernel {}: {} x {} x {} threads, and it takes whole warps of at most {} threads",
                                     kernel.name, block.x, block.y, block.z, kernel.max_threads));
  for (int b = 0; b < grid.x; ++b) EmulatedBlock::current().run(kernel, b, block.x, shared_bytes, arguments);
}

long take_bank_conflicts() {
  long& conflicts = EmulatedBlock::current().bank_conflicts;
  const long taken = conflicts;
  conflicts = 0;
  return taken;
}

}  // namespace spscope::kernels::cuda
