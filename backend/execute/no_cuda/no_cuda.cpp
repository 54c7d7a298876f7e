#include "backend/execute/no_cuda/no_cuda.h"

namespace spscope {
namespace {

Problem no_kernels() {
  return {
      ErrorCode::kUnavailable, "run.device", "this program was built without kernels for GPUs",
      "spscope doctor says why; with NVIDIA's compiler (scripts/setup cuda brings one) configure and build again, or "
      "set run.device = \"cpu\""};
}

std::unique_ptr<Execution> prepare(const Plan&, const Request&, const Activations&, const ExecuteOptions&) {
  throw Error({no_kernels()});
}

}  // namespace

CudaParts no_cuda_parts() {
  return {.unavailable = no_kernels,
          .cannot_run = [](const Plan&, const ExecuteOptions&) { return std::vector<Problem>(); },
          .prepare = prepare,
          .measure = nullptr,
          .calibrate = nullptr};
}

std::vector<DeviceFact> cuda_facts() { return {}; }

}  // namespace spscope
