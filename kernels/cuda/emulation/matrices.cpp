#include "kernels/cuda/emulation/matrices.h"

#include "backend/base/dtype.h"
#include "kernels/cuda/emulation/block.h"

namespace spscope::kernels::cuda {
namespace {

float half_of(std::uint32_t pair, int i) { return to_float(Bf16{static_cast<std::uint16_t>(pair >> (16 * i))}); }

}  // namespace

void shuffle_lanes(ShuffleOperand** lanes) {
  for (int lane = 0; lane < 32; ++lane) lanes[lane]->result = lanes[lane ^ lanes[lane]->lanes]->value;
}

void load_matrices(EmulatedBlock& block, MatrixOperand** lanes, bool transposed) {
  std::uint32_t rows[32];
  for (int lane = 0; lane < 32; ++lane) rows[lane] = lanes[lane]->row;
  std::uint16_t matrices[4][8][8];
  block.read_matrices(rows, matrices);
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix) {
      const int i = lane / 4, j = lane % 4 * 2;
      const auto& m = matrices[matrix];
      const std::uint32_t low = transposed ? m[j][i] : m[i][j], high = transposed ? m[j + 1][i] : m[i][j + 1];
      lanes[lane]->matrices[matrix] = low | high << 16;
    }
}

// Element (row, k) of the left operand is in lane row % 8 * 4 + k % 8 / 2, register row / 8 + k / 8 * 2, half k % 2;
// (k, column) of the right one in lane column * 4 + k % 8 / 2, register k / 8, half k % 2.
void multiply_matrices(MmaOperand** lanes) {
  float a[16][16], b[16][8], c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const MmaOperand& own = *lanes[lane];
    const int g = lane / 4, t = lane % 4 * 2;
    for (int half = 0; half < 2; ++half) {
      for (int r = 0; r < 4; ++r) a[g + r % 2 * 8][t + r / 2 * 8 + half] = half_of(own.a[r], half);
      for (int r = 0; r < 2; ++r) b[t + r * 8 + half][g] = half_of(own.b[r], half);
      for (int r = 0; r < 2; ++r) c[g + r * 8][t + half] = own.c[r * 2 + half];
    }
  }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) lanes[lane]->c[i] = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

}  // namespace spscope::kernels::cuda
