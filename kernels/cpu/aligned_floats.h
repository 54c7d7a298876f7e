// A float buffer for vector code: 128-byte aligned, grows when asked for more, never shrinks, not initialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "backend/base/check.h"

namespace spscope::kernels {

class AlignedFloats {
 public:
  // At least `count` floats; the contents are lost when the buffer has to grow.
  float* reserve(std::int64_t count) {
    if (count > capacity_) {
      // aligned_alloc wants a multiple of the alignment, which is two cache lines: processors fetch lines in pairs.
      const std::int64_t num_bytes = (count * std::int64_t{sizeof(float)} + kAlignment - 1) / kAlignment * kAlignment;
      floats_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(num_bytes))));
      SPSCOPE_CHECK(floats_ != nullptr);
      capacity_ = num_bytes / std::int64_t{sizeof(float)};
    }
    return floats_.get();
  }
  float* data() { return floats_.get(); }
  std::int64_t num_bytes() const { return capacity_ * std::int64_t{sizeof(float)}; }

 private:
  static constexpr std::int64_t kAlignment = 128;
  struct Free {
    void operator()(float* floats) const { std::free(floats); }
  };
  std::unique_ptr<float[], Free> floats_;
  std::int64_t capacity_ = 0;
};

}  // namespace spscope::kernels
