// Storage types of activations: bf16 (the upper half of a float) and fp32. Arithmetic is always done in fp32.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace spscope {

enum class Dtype : std::uint8_t { kBf16 = 0, kFp32 = 1 };

constexpr int dtype_bytes(Dtype dtype) { return dtype == Dtype::kBf16 ? 2 : 4; }
constexpr std::string_view dtype_name(Dtype dtype) { return dtype == Dtype::kBf16 ? "bf16" : "fp32"; }

// The 16 stored bits of a bf16 number.
struct Bf16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

// Rounds to nearest, ties to even; NaN stays NaN.
constexpr Bf16 to_bf16(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

}  // namespace spscope
