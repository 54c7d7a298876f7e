// Memory of the emulated device: an announced range of exactly its elements, so that an access beyond them is a fault.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/cuda/emulation/emulated.h"

namespace spscope::kernels::cuda {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> values) : values_(std::move(values)) {
    if (!values_.empty()) announce_device_memory(values_.data(), values_.size() * sizeof(T));
  }
  DeviceArray(std::size_t count, T value) : DeviceArray(std::vector<T>(count, value)) {}
  ~DeviceArray() {
    if (!values_.empty()) retract_device_memory(values_.data());
  }
  DeviceArray(const DeviceArray&) = delete;

  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  std::vector<T>& values() { return values_; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

template <typename Parameters>
void launch(const EmulatedKernel& kernel, int blocks, int threads, std::size_t shared_bytes, Parameters parameters) {
  void* arguments[] = {&parameters};
  launch_emulated(kernel, {blocks, 1, 1}, {threads, 1, 1}, shared_bytes, arguments);
}

}  // namespace spscope::kernels::cuda
