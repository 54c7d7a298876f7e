// Calls of the fake CUDA driver about itself, its devices and contexts.
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/observed.h"

namespace spscope::fake_cuda {
namespace {

struct ErrorWords {
  CUresult result;
  const char *name, *words;
};
#define SPSCOPE_ERROR_WORDS(name, words) \
  ErrorWords { name, #name, words }
constexpr std::array kErrors = {
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NOT_READY, "device not ready"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    SPSCOPE_ERROR_WORDS(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
};
#undef SPSCOPE_ERROR_WORDS

CUresult give_words(CUresult result, const char* ErrorWords::*which, const char** words) {
  const auto* const found = std::ranges::find(kErrors, result, &ErrorWords::result);
  *words = found == kErrors.end() ? nullptr : found->*which;
  return *words == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void require_device(CUdevice device) {
  if (device < 0 || device >= fake().settings.devices)
    throw Fault{CUDA_ERROR_INVALID_DEVICE, fmt::format("there is no device {}", device)};
}

// As the real driver does: what the variable names is loaded and called, and a library that cannot be is passed over.
void load_injection() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  if (auto* const begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")); begin != nullptr) begin();
}

int attribute_value(const Settings& settings, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return settings.major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return settings.minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return settings.num_sms;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1'980'000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 3'200'000;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return settings.major == 9 || settings.major == 10 ? 232448 : 166912;
    default:
      throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("cuDeviceGetAttribute({})", static_cast<int>(attribute))};
  }
}

CUresult copy_text(const std::string& text, char* out, int room) {
  return call([&] {
    if (room <= static_cast<int>(text.size())) throw Fault{CUDA_ERROR_INVALID_VALUE, "no room for a text"};
    std::memcpy(out, text.c_str(), text.size() + 1);
  });
}

}  // namespace

extern "C" {

CUresult cuGetErrorName(CUresult result, const char** name) { return give_words(result, &ErrorWords::name, name); }

CUresult cuGetErrorString(CUresult result, const char** text) { return give_words(result, &ErrorWords::words, text); }

CUresult cuInit(unsigned) {
  if (!fake().initialised) load_injection();
  fake().initialised = true;
  return fake().settings.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuProfilerStart() {
  return call([] { observe_call(kProfilerStartCall); });
}

CUresult cuProfilerStop() {
  return call([] { observe_call(kProfilerStopCall); });
}

CUresult cuDriverGetVersion(int* version) {
  *version = fake().settings.driver_version == 0 ? CUDA_VERSION : fake().settings.driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return call([&] { *count = fake().settings.devices; });
}

CUresult cuDeviceGet(CUdevice* device, int index) {
  return call([&] {
    require_device(index);
    *device = index;
  });
}

CUresult cuDeviceGetName(char* name, int room, CUdevice) { return copy_text("spscope fake device", name, room); }

CUresult cuDeviceGetPCIBusId(char* id, int room, CUdevice device) {
  return copy_text(fmt::format("0000:{:02X}:00.0", device + 1), id, room);
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(1 + device);
  uuid->bytes[1] = static_cast<char>(fake().settings.own_gpus);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call([&] {
    require_device(device);
    *value = attribute_value(fake().settings, attribute);
  });
}

CUresult cuDeviceTotalMem(std::size_t* num_bytes, CUdevice device) {
  return call([&] {
    require_device(device);
    *num_bytes = fake().settings.memory_bytes;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call([&] {
    require_device(device);
    require_device(peer);
    *can = device != peer && fake().settings.peer != 0 ? 1 : 0;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call([&] {
    require_device(device);
    CUctx_st& primary = *fake().contexts[static_cast<std::size_t>(device)];
    require_sound(primary);
    const std::lock_guard lock(fake().mutex);
    if (primary.users++ == 0) ++fake().contexts_made;
    *context = &primary;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call([&] {
    require_device(device);
    FakeDriver& driver = fake();
    const std::lock_guard lock(driver.mutex);
    std::unique_ptr<CUctx_st>& primary = driver.contexts[static_cast<std::size_t>(device)];
    if (primary->users == 0) throw Fault{CUDA_ERROR_INVALID_CONTEXT, "a primary context is released too often"};
    if (--primary->users > 0 || primary->failed != CUDA_ERROR_LAUNCH_FAILED) return;
    // What a kernel has broken goes with the context; a lost GPU stays lost.
    driver.broken_contexts.push_back(std::exchange(primary, make_context(driver, device)));
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return call([&] {
    if (context == nullptr) throw Fault{CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent of no context"};
    require_sound(*context);
    const std::lock_guard lock(fake().mutex);
    if (context->users == 0) throw Fault{CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxPushCurrent of a released context"};
    context_stack().push_back(context);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call([&] {
    if (context_stack().empty()) throw Fault{CUDA_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent without a context"};
    *context = context_stack().back();
    context_stack().pop_back();
  });
}

CUresult cuCtxSynchronize() {
  return call([] {
    wait_for_all(current_context());
    fake().allocations.check_guards();
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call([&] {
    CUctx_st& context = current_context();
    if (flags != 0 || peer == nullptr || peer == &context)
      throw Fault{CUDA_ERROR_INVALID_VALUE, "cuCtxEnablePeerAccess of no other context"};
    if (fake().settings.peer == 0) throw Fault{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, ""};
    const std::lock_guard lock(fake().mutex);
    if (!context.peers.insert(peer->device).second) throw Fault{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, ""};
  });
}

}  // extern "C"

}  // namespace spscope::fake_cuda
