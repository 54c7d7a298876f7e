// cuda_facts(): the driver and the GPUs of this machine, for `doctor`.
#include <fmt/format.h>

#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda_rows.h"

namespace spscope {

std::vector<DeviceFact> cuda_facts() {
  if (!cuda::driver_missing().message.empty()) return {};
  std::vector<DeviceFact> facts = {{"CUDA driver", cuda::driver_version_text()}};
  for (const cuda::GpuFacts& gpu : cuda::gpus())
    facts.push_back({fmt::format("GPU {}", facts.size() - 1),
                     fmt::format("{}, compute capability {}.{}, {} SMs, {:.1f} GiB, {}", gpu.name, gpu.major, gpu.minor,
                                 gpu.num_sms, static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.bus_id)});
  return facts;
}

}  // namespace spscope
