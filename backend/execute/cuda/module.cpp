#include "backend/execute/cuda/module.h"

#include <fmt/format.h>

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {

Module::Module(const CudaContext& context, std::span<const std::byte> image) : context_(context) {
  const CurrentContext current(context);
  check(driver().cuModuleLoadData(&module_, image.data()),
        fmt::format("cuModuleLoadData of the kernels on device {}", context.device()));
}

Module::~Module() {
  release_in(context_, [&] { driver().cuModuleUnload(module_); });
}

CUfunction Module::function(const std::string& name, int shared_bytes) const {
  const CurrentContext current(context_);
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, name.c_str()), fmt::format("cuModuleGetFunction of {}", name));
  // Above 48 KiB a kernel must be told.
  check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes),
        fmt::format("cuFuncSetAttribute of {} for {} bytes of shared memory", name, shared_bytes));
  return function;
}

}  // namespace spscope::cuda
