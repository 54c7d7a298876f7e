// A copy of a short string of NCCL's, without allocating: what NCCL passes lives only as long as its library.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace spscope::nccl {

template <std::size_t kSize>
class ShortText {
 public:
  void assign(const char* text) noexcept {
    size_ = text == nullptr ? 0 : ::strnlen(text, kSize);
    std::copy_n(text, size_, text_.begin());
  }
  std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, kSize> text_ = {};
  std::size_t size_ = 0;
};

}  // namespace spscope::nccl
