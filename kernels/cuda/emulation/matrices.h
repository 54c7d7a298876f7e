// What a warp does together, for all of its lanes at once, with the fragment layouts of the PTX manual (ISA 8.x,
// sections on shfl.sync, ldmatrix and "Matrix Fragments for mma.m16n8k16").
#pragma once

#include <cstdint>

namespace spscope::kernels::cuda {

class EmulatedBlock;

// Operands of a lane, which lie on its stack.
struct ShuffleOperand {
  float value;
  int lanes;
  float result;
};
struct MatrixOperand {
  std::uint32_t row;
  std::uint32_t (&matrices)[4];
};
struct MmaOperand {
  float (&c)[4];
  const std::uint32_t (&a)[4];
  std::uint32_t b[2];
};

void shuffle_lanes(ShuffleOperand** lanes);
void load_matrices(EmulatedBlock& block, MatrixOperand** lanes, bool transposed);
void multiply_matrices(MmaOperand** lanes);

}  // namespace spscope::kernels::cuda
