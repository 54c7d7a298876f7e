// Calls of the fake CUDA driver that take, share and give up memory.
#include "tests/fake_cuda/fake.h"

namespace spscope::fake_cuda {
namespace {

// As on a real GPU, giving memory up waits for all work.
void give_up(std::uintptr_t address, MemoryKind kind) {
  CUctx_st& context = current_context();
  wait_for_all(context);
  try {
    fake().allocations.free(address, kind);
  } catch (const Fault& fault) {
    if (fault.result == CUDA_ERROR_ILLEGAL_ADDRESS) fail(context, fault);
    throw;
  }
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call([&] {
    *total_bytes = fake().settings.memory_bytes;
    *free_bytes = *total_bytes - fake().allocations.used_bytes(current_context().device);
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t num_bytes) {
  return call([&] {
    *address = fake()
                   .allocations
                   .allocate(MemoryKind::kDevice, current_context().device, num_bytes, fake().settings.memory_bytes)
                   .begin;
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return call([&] { give_up(address, MemoryKind::kDevice); });
}

CUresult cuMemHostAlloc(void** data, std::size_t num_bytes, unsigned) {
  return call([&] {
    *data = reinterpret_cast<void*>(
        fake().allocations.allocate(MemoryKind::kHost, current_context().device, num_bytes, 0).begin);
  });
}

CUresult cuMemFreeHost(void* data) {
  return call([&] { give_up(reinterpret_cast<std::uintptr_t>(data), MemoryKind::kHost); });
}

CUresult cuMemHostRegister(void* data, std::size_t num_bytes, unsigned) {
  return call([&] {
    current_context();
    fake().allocations.add_registered(data, num_bytes);
  });
}

CUresult cuMemHostUnregister(void* data) {
  return call([&] { give_up(reinterpret_cast<std::uintptr_t>(data), MemoryKind::kRegistered); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* data, unsigned) {
  return call([&] {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const Allocation found =
        fake().allocations.holding(begin, 1, CUDA_ERROR_INVALID_VALUE, "cuMemHostGetDevicePointer");
    if (found.kind != MemoryKind::kHost && found.kind != MemoryKind::kRegistered)
      throw Fault{CUDA_ERROR_INVALID_VALUE, "cuMemHostGetDevicePointer: " + found.text()};
    *address = begin;
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return call([&] {
    current_context();
    *handle = fake().allocations.ipc_handle(address);
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  return call([&] { *address = fake().allocations.open(handle, current_context().device); });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return call([&] { give_up(address, MemoryKind::kIpc); });
}

}  // extern "C"

}  // namespace spscope::fake_cuda
