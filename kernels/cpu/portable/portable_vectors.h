// The part of Highway's interface that the vector code uses, on vectors of four floats made by the vector extensions
// of GCC and Clang. Names and meanings are Highway's, hence their spelling.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spscope::kernels::portable_vectors {

inline constexpr int kLanes = 4;

template <typename T>
struct ScalableTag {};
template <typename D>
using RebindToUnsigned = ScalableTag<std::uint32_t>;
template <typename T, typename D>
using Rebind = ScalableTag<T>;

using FloatVector = float __attribute__((vector_size(kLanes * sizeof(float))));
using BitVector = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
struct HalfVector {
  std::uint16_t lanes[kLanes];
};
template <typename D>
using Vec = FloatVector;

constexpr std::size_t Lanes(ScalableTag<float>) { return kLanes; }

inline FloatVector Zero(ScalableTag<float>) { return FloatVector{}; }
inline FloatVector Set(ScalableTag<float>, float x) { return FloatVector{x, x, x, x}; }

template <typename Vector, typename T>
Vector load_unaligned(const T* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
inline FloatVector LoadU(ScalableTag<float>, const float* from) { return load_unaligned<FloatVector>(from); }
inline FloatVector Load(ScalableTag<float>, const float* from) { return *reinterpret_cast<const FloatVector*>(from); }
inline HalfVector LoadU(ScalableTag<std::uint16_t>, const std::uint16_t* from) {
  return load_unaligned<HalfVector>(from);
}
inline void Store(FloatVector v, ScalableTag<float>, float* to) { *reinterpret_cast<FloatVector*>(to) = v; }
inline void StoreU(FloatVector v, ScalableTag<float>, float* to) { std::memcpy(to, &v, sizeof(v)); }

inline FloatVector Add(FloatVector a, FloatVector b) { return a + b; }
inline FloatVector Sub(FloatVector a, FloatVector b) { return a - b; }
inline FloatVector Mul(FloatVector a, FloatVector b) { return a * b; }
inline FloatVector MulAdd(FloatVector a, FloatVector b, FloatVector c) { return a * b + c; }
inline FloatVector MulSub(FloatVector a, FloatVector b, FloatVector c) { return a * b - c; }
inline FloatVector Max(FloatVector a, FloatVector b) { return a > b ? a : b; }

inline BitVector PromoteTo(ScalableTag<std::uint32_t>, HalfVector v) {
  return BitVector{v.lanes[0], v.lanes[1], v.lanes[2], v.lanes[3]};
}
inline FloatVector BitCast(ScalableTag<float>, BitVector v) { return std::bit_cast<FloatVector>(v); }
inline BitVector BitCast(ScalableTag<std::uint32_t>, FloatVector v) { return std::bit_cast<BitVector>(v); }
template <int kBits>
BitVector ShiftLeft(BitVector v) {
  return v << kBits;
}

// The result is in every lane in Highway; here, as there, GetLane reads the first.
inline FloatVector SumOfLanes(ScalableTag<float> d, FloatVector v) { return Set(d, (v[0] + v[1]) + (v[2] + v[3])); }
inline FloatVector MaxOfLanes(ScalableTag<float> d, FloatVector v) {
  const float low = v[0] > v[1] ? v[0] : v[1], high = v[2] > v[3] ? v[2] : v[3];
  return Set(d, low > high ? low : high);
}
inline float GetLane(FloatVector v) { return v[0]; }

}  // namespace spscope::kernels::portable_vectors
