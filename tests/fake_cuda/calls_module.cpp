// Modules and launches of the fake CUDA driver. An image is only looked at to see that it is one; its kernels are found
// by name among those that were compiled for the host.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <vector>

#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/observed.h"
#include "tests/fake_cuda/planted_times.h"

namespace spscope::fake_cuda {
namespace {

constexpr std::uint32_t kFatbinMark = 0xba55ed50, kElfMark = 0x464c457f;

struct Launch {
  CUfunc_st* function = nullptr;
  Extent grid, block;
  std::size_t shared_bytes = 0;
  std::vector<std::byte> argument = {};
  Failure failure = Failure::kNone;
};

void require_possible(const Launch& launch) {
  const auto refuse = [&](const char* what) {
    throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("launch of {}: {}", launch.function->name, what)};
  };
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  if (gx == 0 || gy == 0 || gz == 0 || gx > 0x7fffffffU || gy > 65535 || gz > 65535) refuse("the grid is impossible");
  if (bx * by * bz == 0 || bx > 1024 || by > 1024 || bz > 64 || bx * by * bz > 1024) refuse("the block is impossible");
  if (launch.shared_bytes > launch.function->max_shared_bytes)
    refuse("it asks for more shared memory than cuFuncSetAttribute() allowed");
}

void require_no_failure(const Launch& launch, CUctx_st& context) {
  const std::string& name = launch.function->name;
  switch (launch.failure) {
    case Failure::kFail:
      throw Fault{CUDA_ERROR_LAUNCH_FAILED, fmt::format("planted: {} fails", name)};
    case Failure::kLose:
      throw Fault{CUDA_ERROR_ECC_UNCORRECTABLE, fmt::format("planted: device {} is lost in {}", context.device, name)};
    case Failure::kHang:
      wait_until(context, [] { return false; });
      return;
    case Failure::kKill:
      std::raise(SIGKILL);
      return;
    case Failure::kNone:
    case Failure::kRefuse:
      return;
  }
}

constexpr std::string_view kHold = "spscope_hold";

void run(Launch& launch, CUctx_st& context) {
  require_no_failure(launch, context);
  const int held = launch.function->name == kHold ? static_cast<int>(launch.grid.x) : 0;
  if (fake().settings.planted_times && held == 0) {
    const int sms = fake().settings.num_sms;
    running_stream().planted_ns +=
        planted_ns(launch.function->name, launch.argument.data()) * sms / std::max(1, sms - context.held_sms);
    return;
  }
  context.held_sms += held;
  const auto begin = std::chrono::steady_clock::now();
  try {
    launch.function->kernel.run(launch.grid, launch.block, launch.shared_bytes, launch.argument.data());
    if (held == 0) stretch(begin);  // who holds SMs waits for the host
    context.held_sms -= held;
  } catch (const std::runtime_error& error) {
    throw Fault{CUDA_ERROR_LAUNCH_FAILED, fmt::format("{}: {}", launch.function->name, error.what())};
  }
  try {
    fake().allocations.check_guards();
  } catch (const Fault& fault) {
    throw Fault{fault.result, fmt::format("after {}: {}", launch.function->name, fault.words)};
  }
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* loaded, const void* image) {
  return call([&] {
    auto module = std::make_unique<CUmod_st>();
    module->context = &current_context();
    std::uint32_t mark = 0;
    std::memcpy(&mark, image, sizeof mark);
    if (mark != kFatbinMark && mark != kElfMark)
      throw Fault{CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData of something that is no image"};
    constexpr int kOldest = 8;  // of the images that kernels/cuda/CMakeLists.txt makes
    if (fake().settings.major < kOldest) throw Fault{CUDA_ERROR_NO_BINARY_FOR_GPU, ""};
    *loaded = module.get();
    const std::lock_guard lock(fake().mutex);
    fake().modules.push_back(std::move(module));
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return call([&] {
    CUmod_st& module = made(handle);
    module.destroyed = true;
    for (const auto& function : module.functions) function->destroyed = true;
  });
}

CUresult cuModuleGetFunction(CUfunction* found, CUmodule handle, const char* name) {
  return call([&] {
    const std::optional<Kernel> kernel = find_kernel(name);
    if (!kernel) throw Fault{CUDA_ERROR_NOT_FOUND, fmt::format("there is no kernel {}", name)};
    const std::lock_guard lock(fake().mutex);
    CUmod_st& module = made(handle);
    auto function = std::make_unique<CUfunc_st>();
    function->context = module.context;
    function->name = name;
    function->kernel = *kernel;
    *found = function.get();
    module.functions.push_back(std::move(function));
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return call([&] {
    CUfunc_st& function = made(handle);
    int most = 0;
    cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > most)
      throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("cuFuncSetAttribute of {}: {}", function.name, value)};
    const std::lock_guard lock(fake().mutex);
    function.max_shared_bytes = std::max(49152U, static_cast<unsigned>(value));
  });
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared_bytes, CUstream into, void** arguments, void** extra) {
  return call([&] {
    CUfunc_st& function = made(handle);
    CUstream_st& stream = made(into);
    if (extra != nullptr || arguments == nullptr || function.context != stream.context)
      throw Fault{CUDA_ERROR_INVALID_VALUE, "launch of " + function.name + " without arguments, or on another device"};
    Launch launch{.function = &function, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = shared_bytes};
    require_possible(launch);
    {
      const std::lock_guard lock(fake().mutex);
      ++fake().launches[{function.name, gx}];
    }
    launch.failure = next_failure(fake().settings, function.name, stream.context->device);
    if (launch.failure == Failure::kRefuse)
      throw Fault{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, fmt::format("planted: {} is refused", function.name)};
    const auto* const argument = static_cast<const std::byte*>(arguments[0]);
    launch.argument.assign(argument, argument + function.kernel.argument_bytes);
    Observed observed(kLaunchCall, FakeDriverWork::kKernel, stream);
    observed.work.name = function.name.c_str();
    observed.work.grid = gx;
    observed.work.block = bx;
    observed.work.shared_bytes = shared_bytes;
    enqueue(stream, [launch, observed, &context = *stream.context]() mutable {
      observed.begin();
      run(launch, context);
      observed.end();
    });
  });
}

}  // extern "C"

}  // namespace spscope::fake_cuda
