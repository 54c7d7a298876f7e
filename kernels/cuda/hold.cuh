// Holds multiprocessors: blocks that do nothing but wait, so that kernels beside them are confined to the others. With
// all the shared memory that a block may have, each block has a multiprocessor of its own, and no kernel that needs
// shared memory fits beside it.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace spscope::kernels::cuda {

// One thread of a block waits. It gives up after the limit, so that no host that fails leaves the device occupied.
SPSCOPE_DEVICE void hold_processor(const Hold& launch) {
  if (thread_index() != 0) return;
  std::uint32_t* const place = launch.places + block_index();
  const std::int64_t end_ns = timer_ns() + launch.limit_ns;
  store_for_host(place, static_cast<std::uint32_t>(processor_index() + 1));
  while (load_from_host(launch.release) == 0) {
    if (timer_ns() > end_ns) {
      store_for_host(place, kHoldGaveUp);
      return;
    }
    pause();
  }
}

}  // namespace spscope::kernels::cuda
