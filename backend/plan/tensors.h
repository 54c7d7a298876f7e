// The tensors of a DiT layer that a plan moves, and the axes of their columns.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace spscope {

// Stored numbers: append only.
enum class Axis : std::uint8_t { kHeads = 0, kHidden = 1, kFfn = 2, kStat = 3 };
inline constexpr int kNumAxes = 4;

enum class Tensor : std::uint8_t {
  kQ = 0,         // queries, [heads, tokens, head_dim]
  kK = 1,         // keys
  kV = 2,         // values
  kO = 3,         // attention output; unnormalised when the value is partial
  kRowStats = 4,  // running max and sum of each row of scores (m, l), 2 elements a row, always fp32
  kX = 5,         // hidden state, [tokens, hidden]
  kF = 6,         // inner activations of the feed-forward network, [tokens, ffn]
  kNorm = 7,      // norm statistics (a sum of squares a token), always fp32
};
inline constexpr int kNumTensors = 8;

// A set of tensors that share one placement (q; k and v together; o and its row statistics).
struct TensorSet {
  std::uint16_t bits = 0;
  constexpr TensorSet() = default;
  constexpr TensorSet(std::initializer_list<Tensor> tensors) {
    for (Tensor t : tensors) bits = static_cast<std::uint16_t>(bits | 1u << static_cast<unsigned>(t));
  }
  constexpr bool has(Tensor t) const { return (bits >> static_cast<unsigned>(t) & 1u) != 0; }
  constexpr bool empty() const { return bits == 0; }
  friend constexpr bool operator==(const TensorSet&, const TensorSet&) = default;
};

// The axis that a tensor's columns run along.
constexpr Axis columns_of(Tensor tensor) {
  if (tensor == Tensor::kX) return Axis::kHidden;
  if (tensor == Tensor::kF) return Axis::kFfn;
  return tensor == Tensor::kNorm ? Axis::kStat : Axis::kHeads;
}

inline constexpr TensorSet kQueries{Tensor::kQ}, kKeysValues{Tensor::kK, Tensor::kV}, kOutputs{Tensor::kO},
    kPartialRows{Tensor::kO, Tensor::kRowStats}, kHiddenState{Tensor::kX};

// Which axis of the token grid [outer][inner] attention runs along; the other one enumerates sequences.
// Stored numbers: append only.
enum class AttendedAxis : std::uint8_t { kOuter = 1, kInner = 2 };

// "q", "k", ... and "kv", "o+stats".
const char* tensor_name(Tensor tensor);
std::string tensor_set_name(TensorSet tensors);

}  // namespace spscope
