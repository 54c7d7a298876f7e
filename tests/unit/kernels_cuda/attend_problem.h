// An attention op as a CUDA launch, with random shapes and numbers: several heads and sequences over the same stretches
// of rows and keys, a random mask for each head, and what comes out in double precision (kernels/reference.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/base/rng.h"
#include "kernels/cuda/emulation/kernel.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/select.h"
#include "kernels/reference.h"
#include "tests/unit/kernels_cuda/device_array.h"

namespace spscope::kernels::cuda {

struct ProblemShape {
  Dtype dtype = Dtype::kBf16;
  int head_dim = 64, heads = 1, sequences = 1;
  std::vector<std::int32_t> q_rows = {64}, k_rows = {64};  // of each stretch
  double density = 1;
  bool interleaved = false;  // q, k, v and results [sequence][token][head][D]; else [head][sequence][token][D]
  bool fresh = true, finished = false;
  std::uint64_t seed = 1;
};

class AttendProblem {
 public:
  explicit AttendProblem(const ProblemShape& shape);

  // Runs it by `kernel` with these needs. Throws EmulationFault.
  void run(const AttendChoice& choice, const EmulatedKernel& kernel);

  // Compares with the reference. `nmse` is that of normalised rows; `wrong` is "" or what else is not as it must be.
  struct Outcome {
    double nmse = 0;
    std::string wrong;
  };
  Outcome compare() const;

 private:
  std::int64_t place(int head, int sequence, std::int64_t row, std::int64_t rows) const;
  std::int64_t row_stride() const { return std::int64_t{shape_.interleaved ? shape_.heads : 1} * shape_.head_dim; }
  std::int64_t state_row(int head, int sequence, std::int64_t row) const;
  std::vector<std::byte> random_rows(std::int64_t rows);
  std::vector<RowBlock> blocks(const DeviceArray<std::byte>& rows, int head, int sequence,
                               const std::vector<std::int32_t>& stretches) const;
  void make_state();
  void make_mask();
  void make_pieces(std::int32_t rows_per_block);
  ReferenceRows expected(int head, int sequence) const;
  void compare_row(const ReferenceRows& expected, int head, int sequence, std::int64_t row, bool has_keys,
                   std::vector<float>& actual, std::vector<double>& wanted, std::string& wrong) const;

  ProblemShape shape_;
  Rng rng_;
  std::int64_t num_q_ = 0, num_k_ = 0;  // rows of a head and sequence
  float scale_ = 1;
  DeviceArray<std::byte> q_, k_, v_, finished_;
  DeviceArray<float> out_, row_max_, row_sum_;
  std::vector<float> out_before_, row_max_before_, row_sum_before_;
  std::vector<std::vector<std::int32_t>> row_begin_, k_block_;  // by head
  std::vector<AttendRows> rows_;
  std::vector<AttendKeys> keys_;
  std::vector<std::int32_t> tiles_;
};

}  // namespace spscope::kernels::cuda
