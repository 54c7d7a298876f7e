// A half-open run of indices of one axis (tokens, heads, channels). Sets are sorted, disjoint, non-adjacent spans.
#pragma once

#include <cstdint>
#include <span>

namespace spscope {

struct Span {
  std::int32_t begin = 0, end = 0;
  constexpr std::int32_t size() const { return end - begin; }
  friend constexpr bool operator==(const Span&, const Span&) = default;
};

// Number of indices in a set.
constexpr std::int64_t total_size(std::span<const Span> spans) {
  std::int64_t n = 0;
  for (const Span& s : spans) n += s.size();
  return n;
}

}  // namespace spscope
