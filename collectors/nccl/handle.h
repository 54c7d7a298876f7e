// Handle: what NCCL gets for a communicator, an operation or one of its children, and passes back. Not a pointer but
// the place in a pool with the number of its use, so that one that comes late, twice, or from another process names
// nothing, instead of what has the place now.
#pragma once

#include <cstdint>

namespace spscope::nccl {

enum class HandleKind : std::uint8_t { kNone = 0, kCommunicator, kOperation, kChannel, kProxy, kCall };

struct Handle {
  HandleKind kind = HandleKind::kNone;
  std::uint32_t index = 0;  // below 2^15
  std::uint64_t use = 0;    // of the place; below 2^40
  int child = 0;            // of the operation: channel, or number of the proxy op; below 64
};

inline void* pack(const Handle& handle) noexcept {
  const std::uint64_t bits = static_cast<std::uint64_t>(handle.kind) | static_cast<std::uint64_t>(handle.child) << 3 |
                             static_cast<std::uint64_t>(handle.index) << 9 | handle.use << 24;
  return reinterpret_cast<void*>(bits);  // NOLINT: never dereferenced
}

inline Handle unpack(const void* handle) noexcept {
  static_assert(sizeof(void*) == sizeof(std::uint64_t));
  const auto bits = reinterpret_cast<std::uint64_t>(handle);
  return {static_cast<HandleKind>(bits & 7), static_cast<std::uint32_t>(bits >> 9 & 0x7fff), bits >> 24,
          static_cast<int>(bits >> 3 & 63)};
}

}  // namespace spscope::nccl
