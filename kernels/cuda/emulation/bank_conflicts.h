// Bank conflicts: shared memory has 32 banks of 4 bytes, word w in bank w mod 32, and serves 128 bytes of different
// banks at once. Lanes go together: 32 that access 4 bytes or less, 16 with 8 bytes, 8 with 16 bytes, which is also how
// ldmatrix reads the 8 rows of a matrix (CUDA C++ Programming Guide, compute capability 5.x and later).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spscope::kernels::cuda {

struct SharedAccess {
  std::uint32_t address = 0;
  std::uint32_t num_bytes = 0;
};

// Passes beyond the first that accesses of lanes that go together need.
int extra_passes(std::span<const SharedAccess> together);

// What the lanes of a warp accessed since they were last seen side by side, one list a lane. The i-th accesses of all
// lanes are one instruction where all lanes made the same number of them; where they took different paths nothing is
// counted. Clears the lists.
long take_conflicts(std::span<std::vector<SharedAccess>> lanes);

}  // namespace spscope::kernels::cuda
