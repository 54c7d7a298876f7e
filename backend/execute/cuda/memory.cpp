// Destructors pass over errors: after a GPU has failed every call fails, and the first failure has been reported.
#include "backend/execute/cuda/memory.h"

#include <fmt/format.h>

#include <cstring>

#include "backend/base/check.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/stream.h"

namespace spscope::cuda {
namespace {

CUdeviceptr device_address(void* data) {
  CUdeviceptr address = 0;
  check(driver().cuMemHostGetDevicePointer(&address, data, 0), "cuMemHostGetDevicePointer");
  return address;
}

}  // namespace

DeviceMemory::DeviceMemory(const CudaContext& context, std::size_t num_bytes)
    : context_(context), num_bytes_(num_bytes) {
  if (num_bytes == 0) return;
  const CurrentContext current(context);
  check(driver().cuMemAlloc(&address_, num_bytes),
        fmt::format("cuMemAlloc of {} bytes on device {}", num_bytes, context.device()));
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) release_in(context_, [&] { driver().cuMemFree(address_); });
}

// Not cuMemcpyHtoD(): it may return while bytes from pageable memory are still on their way, and no stream of ours
// waits for the default one (CUDA Driver API, "API synchronization behavior").
void DeviceMemory::write(std::span<const std::byte> bytes) const {
  SPSCOPE_CHECK(bytes.size() <= num_bytes_);
  if (bytes.empty()) return;
  const Stream stream(context_);
  const CurrentContext current(context_);
  check(driver().cuMemcpyHtoDAsync(address_, bytes.data(), bytes.size(), stream.get()), "cuMemcpyHtoDAsync");
  check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
}

CUipcMemHandle DeviceMemory::ipc_handle() const {
  const CurrentContext current(context_);
  CUipcMemHandle handle{};
  check(driver().cuIpcGetMemHandle(&handle, address_),
        fmt::format("cuIpcGetMemHandle on device {}", context_.device()));
  return handle;
}

HostMemory::HostMemory(const CudaContext& context, std::size_t num_bytes) : context_(context), num_bytes_(num_bytes) {
  const CurrentContext current(context);
  check(driver().cuMemHostAlloc(&data_, num_bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        fmt::format("cuMemHostAlloc of {} bytes", num_bytes));
  std::memset(data_, 0, num_bytes);
  address_ = device_address(data_);
}

HostMemory::~HostMemory() {
  release_in(context_, [&] { driver().cuMemFreeHost(data_); });
}

RegisteredMemory::RegisteredMemory(const CudaContext& context, std::span<std::byte> bytes)
    : context_(context), data_(bytes.data()) {
  const CurrentContext current(context);
  check(driver().cuMemHostRegister(data_, bytes.size(), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
        fmt::format("cuMemHostRegister of {} bytes", bytes.size()));
  address_ = device_address(data_);
}

RegisteredMemory::~RegisteredMemory() {
  release_in(context_, [&] { driver().cuMemHostUnregister(data_); });
}

IpcMemory::IpcMemory(const CudaContext& context, const CUipcMemHandle& handle) : context_(context) {
  const CurrentContext current(context);
  check(driver().cuIpcOpenMemHandle(&address_, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
        fmt::format("cuIpcOpenMemHandle on device {}", context.device()));
}

IpcMemory::~IpcMemory() {
  release_in(context_, [&] { driver().cuIpcCloseMemHandle(address_); });
}

}  // namespace spscope::cuda
