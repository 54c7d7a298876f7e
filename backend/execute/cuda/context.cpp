#include "backend/execute/cuda/context.h"

#include <fmt/format.h>

#include <array>

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

CUdevice device_of(int index) {
  CUdevice device = 0;
  check(driver().cuDeviceGet(&device, index), fmt::format("cuDeviceGet of device {}", index));
  return device;
}

int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

GpuFacts facts_of(int index) {
  const CUdevice device = device_of(index);
  GpuFacts facts;
  std::array<char, 256> text{};
  check(driver().cuDeviceGetName(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetName");
  facts.name = text.data();
  check(driver().cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device), "cuDeviceGetPCIBusId");
  facts.bus_id = text.data();
  CUuuid uuid{};
  check(driver().cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  facts.uuid.assign(uuid.bytes, sizeof uuid.bytes);
  facts.major = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.num_sms = attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.max_shared_bytes = attribute_of(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.clock_mhz = attribute_of(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  facts.memory_clock_mhz = attribute_of(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000;
  std::size_t bytes = 0;
  check(driver().cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  return facts;
}

}  // namespace

std::vector<GpuFacts> gpus() {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  std::vector<GpuFacts> all;
  for (int device = 0; device < count; ++device) all.push_back(facts_of(device));
  return all;
}

CudaContext::CudaContext(int device) : device_(device) {
  check(driver().cuDevicePrimaryCtxRetain(&context_, device_of(device)),
        fmt::format("cuDevicePrimaryCtxRetain of device {}", device));
}

CudaContext::~CudaContext() {
  CUdevice device = 0;
  if (driver().cuDeviceGet(&device, device_) == CUDA_SUCCESS) driver().cuDevicePrimaryCtxRelease(device);
}

void CudaContext::synchronise() const {
  const CurrentContext current(*this);
  check(driver().cuCtxSynchronize(), fmt::format("work on device {}", device_));
}

CurrentContext::CurrentContext(const CudaContext& context) {
  check(driver().cuCtxPushCurrent(context.get()), fmt::format("cuCtxPushCurrent of device {}", context.device()));
}

bool push_context(const CudaContext& context) noexcept {
  return driver().cuCtxPushCurrent(context.get()) == CUDA_SUCCESS;
}

void pop_context() noexcept {
  CUcontext popped = nullptr;
  driver().cuCtxPopCurrent(&popped);
}

bool enable_peer_access(const CudaContext& context, const CudaContext& other) {
  if (context.device() == other.device()) return true;
  int possible = 0;
  check(driver().cuDeviceCanAccessPeer(&possible, device_of(context.device()), device_of(other.device())),
        "cuDeviceCanAccessPeer");
  if (possible == 0) return false;
  const CurrentContext current(context);
  const CUresult result = driver().cuCtxEnablePeerAccess(other.get(), 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    check(result, fmt::format("cuCtxEnablePeerAccess of device {} to device {}", context.device(), other.device()));
  return true;
}

}  // namespace spscope::cuda
