#include "collectors/nvml/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "backend/base/load_failure.h"

namespace spscope::nvml {
namespace {

// The first call that the library lacks; "" when it has all that it must have.
std::string find_calls(void* library, Calls& calls) {
  calls.nvmlErrorString = reinterpret_cast<decltype(calls.nvmlErrorString)>(dlsym(library, "nvmlErrorString"));
  if (calls.nvmlErrorString == nullptr) return "nvmlErrorString";
#define NVML_CALL_SINCE(name, arguments) calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library, #name));
#define NVML_CALL(name, arguments) \
  NVML_CALL_SINCE(name, arguments) \
  if (calls.name == nullptr) return #name;
#include "collectors/nvml/calls.def"
#undef NVML_CALL
#undef NVML_CALL_SINCE
  return {};
}

}  // namespace

Library::Library(const std::string& name) {
  // It stays open: threads of the driver may be in it.
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorCode::kCannotCollect, fmt::format("there is no NVML: {}", load_failure(name, dlerror())),
                "install NVIDIA's driver, which brings it, or start the container with docker run --gpus all and "
                "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  if (const std::string missing = find_calls(handle, calls_); !missing.empty())
    throw Error(ErrorCode::kCannotCollect, fmt::format("NVIDIA's NVML has no {}: {}", missing, name),
                "use a driver from R450 on (CUDA 11.0)");
  if (const int result = calls_.nvmlInit_v2(); result != kSuccess) throw failure(calls_, "", "nvmlInit_v2", result);
  std::array<char, 80> version = {};  // as long as NVML's are
  if (calls_.nvmlSystemGetDriverVersion(version.data(), version.size()) == kSuccess)
    driver_ = fmt::format("driver {}", version.data());
}

Library::~Library() { calls_.nvmlShutdown(); }

std::string failure_text(const Calls& calls, std::string_view call, int result) {
  return fmt::format("{} failed with {}, {}", call, result, calls.nvmlErrorString(result));
}

std::string_view remedy(int result) {
  switch (result) {
    case kDriverNotLoaded:
      return "load the kernel module nvidia (`modprobe nvidia`) and see `nvidia-smi`; in a container, start it with "
             "the "
             "GPUs (docker run --gpus all)";
    case kVersionMismatch:
      return "the driver was updated while its kernel module ran: reboot, or unload and load the kernel module nvidia; "
             "in a container, start it anew so that it gets the host's libraries";
    case kNoPermission:
      return "this user may not use the GPU: see the mode of /dev/nvidia*, and in a container or a batch job whether "
             "this GPU was given to it";
    case kOperatingSystem:
      return "the system keeps the process from the GPU (cgroup): ask for it in the batch job or the container";
    case kGpuIsLost:
      return "the GPU fell off the bus: see `dmesg` for its Xid; it needs `nvidia-smi --gpu-reset` or a reboot";
    case kResetRequired:
      return "the GPU needs a reset: `nvidia-smi --gpu-reset`, once nothing uses it";
    case kLibraryNotFound:
    case kFunctionNotFound:
    case kUnknown:
      return "NVML does not reach the driver: see `nvidia-smi` and `dmesg`";
    default:
      return {};
  }
}

Error failure(const Calls& calls, std::string_view where, std::string_view call, int result) {
  std::string message = failure_text(calls, call, result);
  if (!where.empty()) message = fmt::format("{}: {}", where, message);
  return Error(ErrorCode::kCannotCollect, std::move(message), std::string(remedy(result)));
}

std::string note_of(const Error& error) {
  return error.hint().empty() ? error.what() : fmt::format("{}; {}", error.what(), error.hint());
}

}  // namespace spscope::nvml
