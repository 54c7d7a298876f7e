// The CUDA driver, without which nothing computes on a GPU and no collector of its work has anything to see; and what
// its GPUs are called in all collectors.
#pragma once

#include <dlfcn.h>

#include <array>
#include <optional>
#include <string>

namespace spscope {

// Why there is none, with what to do; nothing when there is one. It stays open: a driver is not unloaded safely.
inline std::optional<std::string> missing_cuda_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return std::nullopt;
  return "there is no CUDA driver (libcuda.so.1); install NVIDIA's driver";
}

// "GPU 0 at 0000:3B:00.0". CUDA counts from 0 what CUDA_VISIBLE_DEVICES leaves a process, so that GPU 0 of two
// processes may be two GPUs: the id of the bus, "" where it is not known, tells them apart.
inline std::string gpu_text(int ordinal, const std::string& bus_id = {}) {
  return "GPU " + std::to_string(ordinal) + (bus_id.empty() ? "" : " at " + bus_id);
}

// Where the driver that this process has started says that a GPU is; "" where it does not.
#ifdef __clang__
[[clang::no_sanitize("function")]]  // results are an enum of CUDA's
#endif
inline std::string
bus_id_of_gpu(int ordinal) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return {};
  const auto get = reinterpret_cast<int (*)(int*, int)>(dlsym(driver, "cuDeviceGet"));
  const auto tell = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetPCIBusId"));
  int device = 0;
  std::array<char, 32> id = {};
  const bool is_known = get != nullptr && tell != nullptr && get(&device, ordinal) == 0 &&
                        tell(id.data(), static_cast<int>(id.size()), device) == 0;
  dlclose(driver);
  return is_known ? id.data() : "";
}

// Of CUDA that it is for, 12080 is 12.8; 0: there is none.
#ifdef __clang__
[[clang::no_sanitize("function")]]  // results are an enum of CUDA's
#endif
inline int
cuda_driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const call = driver == nullptr ? nullptr : dlsym(driver, "cuDriverGetVersion");
  int version = 0;
  return call != nullptr && reinterpret_cast<int (*)(int*)>(call)(&version) == 0 ? version : 0;
}

}  // namespace spscope
