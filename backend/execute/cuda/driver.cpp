#include "backend/execute/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "backend/base/load_failure.h"

namespace spscope::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
// Machine code of this build loads in any driver of the same major version of CUDA, and in newer ones. Its PTX, which
// GPUs without code of their own run (SPSCOPE_CUDA_ARCHITECTURES), needs a driver as new as the compiler:
// CUDA_ERROR_UNSUPPORTED_PTX_VERSION.
constexpr int kOldestVersion = CUDA_VERSION / 1000 * 1000;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Problem missing(std::string message, std::string hint) {
  return {ErrorCode::kNoDevice, "run.device", std::move(message),
          hint + "; without a GPU set run.device = \"cpu\", or run.mode = \"simulate\""};
}

struct LoadedDriver {
  Driver driver;
  Problem missing;
};

#define SPSCOPE_TEXT(name) #name
#define SPSCOPE_EXPANDED_TEXT(name) SPSCOPE_TEXT(name)

// The name of the first call that the library lacks; "" when it has all.
std::string find_calls(void* library, Driver& driver) {
#define DRIVER_CALL(name)                                                                             \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, SPSCOPE_EXPANDED_TEXT(name))); \
  if (driver.name == nullptr) return SPSCOPE_EXPANDED_TEXT(name);
#include "backend/execute/cuda/driver_calls.def"
#undef DRIVER_CALL
  return {};
}

Problem too_old(std::string_view how) {
  return missing(fmt::format("the CUDA driver of this machine is too old for the kernels of this build ({})", how),
                 fmt::format("install a driver for CUDA {} or newer", version_text(kOldestVersion)));
}

// Of a library that has all calls: whether it is new enough and has a GPU.
Problem start(Driver& driver) {
  if (const CUresult result = driver.cuDriverGetVersion(&driver.version); result != CUDA_SUCCESS)
    return missing(fmt::format("the CUDA driver does not tell its version (error {})", static_cast<int>(result)),
                   "see `nvidia-smi`");
  if (driver.version < kOldestVersion)
    return too_old(fmt::format("it is for CUDA {}, they are of CUDA {}", version_text(driver.version),
                               version_text(CUDA_VERSION)));
  int count = 0;
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) result = driver.cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    return missing("there is a CUDA driver, but no GPU that this process may use",
                   "see `nvidia-smi`, and whether CUDA_VISIBLE_DEVICES or a container hides it");
  if (result != CUDA_SUCCESS) {
    const char* name = nullptr;
    const char* text = nullptr;
    driver.cuGetErrorName(result, &name);
    driver.cuGetErrorString(result, &text);
    return missing(fmt::format("the CUDA driver does not start: {}, {}", name == nullptr ? "unknown error" : name,
                               text == nullptr ? "" : text),
                   "see `nvidia-smi`");
  }
  return {};
}

LoadedDriver load() {
  LoadedDriver loaded;
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.missing =
        missing(fmt::format("there is no CUDA driver: {}", load_failure(kLibrary, dlerror())),
                fmt::format("install NVIDIA's driver, for CUDA {} or newer", version_text(kOldestVersion)));
    return loaded;
  }
  if (const std::string call = find_calls(library, loaded.driver); !call.empty())
    loaded.missing = too_old(fmt::format("it has no {}", call));
  else
    loaded.missing = start(loaded.driver);
  return loaded;
}

// The library stays open: a driver cannot be unloaded safely.
const LoadedDriver& loaded_driver() {
  static const LoadedDriver loaded = load();
  return loaded;
}

// What mends a failed call; most results that are not named here come from a kernel or from the device.
const char* hint_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "other processes may use the GPU (`nvidia-smi`); use more GPUs, fewer tokens or a smaller batch";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return "another process has the GPU for itself, or it takes none: see \"Compute M.\" of `nvidia-smi`, and set it "
             "to Default, or CUDA_VISIBLE_DEVICES to another GPU";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "this build has kernels for GPUs of compute capability 8.0 and newer, and GPUs newer than the build "
             "need a driver as new as its compiler: `spscope doctor` shows both; set CUDA_VISIBLE_DEVICES to another "
             "GPU, or run.device = \"cpu\"";
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_TOO_MANY_PEERS:
      return "see `nvidia-smi topo -p2p r`, and set CUDA_VISIBLE_DEVICES to GPUs that reach each other, or to one of "
             "them: ranks may share it";
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
      return "the driver refuses the call: please report it, with what `spscope doctor` prints; run.device = \"cpu\" "
             "runs the same plan";
    default:
      return "a GPU that has failed once stays unusable for this process; `dmesg` may name a fault of the device";
  }
}

}  // namespace

const Problem& driver_missing() { return loaded_driver().missing; }

const Driver& driver() {
  const LoadedDriver& loaded = loaded_driver();
  if (!loaded.missing.message.empty()) throw Error(loaded.missing.code, loaded.missing.message, loaded.missing.hint);
  return loaded.driver;
}

std::string driver_version_text() { return version_text(driver().version); }

std::string error_text(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver().cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr)
    return fmt::format("CUDA error {}", static_cast<int>(result));
  driver().cuGetErrorString(result, &text);
  return fmt::format("{}, {}", name, text == nullptr ? "" : text);
}

void check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  throw Error(result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::kDeviceMemory : ErrorCode::kDeviceFailed,
              fmt::format("{}: {}", what, error_text(result)), hint_of(result));
}

}  // namespace spscope::cuda
