// Runs the CUDA kernels on the host, without a device: each CUDA thread is a fiber, and what a kernel does to shared
// memory is checked (checked_shared.h). For tests, and for the fake driver that lets whole runs be tested.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace spscope::kernels::cuda {

struct Grid {
  int x = 1, y = 1, z = 1;
};

struct EmulatedKernel;

// What went wrong on the emulated device, with kernel, block and thread: threads that wait for each other for ever,
// shared memory that two threads touch without an order between them, an address outside of memory.
class EmulationFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// nullptr: there is no such kernel.
const EmulatedKernel* find_emulated_kernel(std::string_view name);

// Runs all blocks, one after the other, on the calling thread; several threads may launch at once. `arguments` as for
// cuLaunchKernel. Throws EmulationFault.
void launch_emulated(const EmulatedKernel& kernel, Grid grid, Grid block, std::size_t shared_bytes, void** arguments);

// Device memory: from the first allocation that is announced on, a kernel that touches other memory has a fault.
// Announced ranges do not overlap. Any thread may call these.
void announce_device_memory(const void* begin, std::size_t num_bytes);
void retract_device_memory(const void* begin);

// What bank conflicts cost all launches of this thread since the last call: shared memory passes (of 128 bytes) beyond
// those that the bytes of each access need.
long take_bank_conflicts();

}  // namespace spscope::kernels::cuda
