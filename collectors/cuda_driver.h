// The CUDA driver, without which nothing computes on a GPU and no collector of its work has anything to see.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>

namespace spscope {

// Why there is none, with what to do; nothing when there is one. It stays open: a driver is not unloaded safely.
inline std::optional<std::string> missing_cuda_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return std::nullopt;
  return "there is no CUDA driver (libcuda.so.1); it comes with the driver of the GPU";
}

// Of CUDA that it is for, 12080 is 12.8; 0: there is none.
inline int cuda_driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const call = driver == nullptr ? nullptr : dlsym(driver, "cuDriverGetVersion");
  int version = 0;
  return call != nullptr && reinterpret_cast<int (*)(int*)>(call)(&version) == 0 ? version : 0;
}

}  // namespace spscope
