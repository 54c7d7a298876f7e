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

}  // namespace spscope
