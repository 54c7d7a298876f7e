// Reference: what a layer's attentions must give, computed in double precision from the whole activations and the
// masks, without any plan; and the verdict on what a run gave.
//
// Rows (one head of one query token) are judged one by one by their normalised mean square error, sum (x - ref)^2 /
// sum ref^2, since an error in one row of millions would vanish in the error of the whole tensor. A row whose reference
// is nearly zero by chance is normalised by a hundredth of the mean row instead.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/config/run_config.h"
#include "backend/execute/activations.h"
#include "backend/execute/outputs.h"
#include "backend/plan/request.h"
#include "backend/plan/timeline.h"

namespace spscope {

inline constexpr std::string_view kErrorMetric = "row_nmse";

// The largest error of a row that passes. Both are below the error of a missing tile, about 1 / tiles of the row.
// fp32: sums in another order and the kernel's exponential (2.5e-7) leave at most 1.3e-11 in the conformance tests.
// bf16: rounding an output to 8 significant bits is off by at most 2^-8 of it, so that no row exceeds 2^-16 = 1.5e-5;
// 1.35e-5 in the conformance tests.
double error_tolerance(Dtype dtype);

struct Verification {
  Verdict verdict = Verdict::kSkipped;
  double max_error = 0;      // of any row that was compared, by kErrorMetric
  double nmse = 0;           // of all compared rows together
  double max_abs_error = 0;  // of any element
  std::int64_t num_rows = 0;
  // The row with the highest error.
  int worst_layer = 0, worst_head = 0;
  std::int32_t worst_outer = 0, worst_inner = 0;
};

class Reference {
 public:
  // kFull: all rows. kSample: rows chosen by `seed`, at least one of every head, each against all its keys; about a
  // second of work. kOff: none.
  Reference(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed);

  // Compares a run's outputs. Fails too when replicas differ by more than the tolerance allows.
  Verification check(std::span<const OutputTensor> outputs) const;
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.size()); }

 private:
  struct Row {
    int layer = 0, batch_entry = 0, head = 0;
    std::int32_t outer = 0, inner = 0;
  };
  std::vector<Row> choose_rows(const Request& request, int layer, VerifyExtent extent, std::uint64_t seed) const;
  void compute(const Request& request, const Activations& activations, std::span<const Row> rows);
  // Squared error of one row; raises max_abs_error.
  double squared_error(std::size_t index, const OutputTensor& output, Verification& result) const;
  void judge_row(std::size_t index, double squared, Verification& result) const;

  // Shape of the whole tensors, to find a row in an output.
  Activations shape_;
  Dtype dtype_;
  std::vector<Row> rows_;
  std::vector<double> expected_;  // [rows, head_dim]
  std::vector<double> squares_;   // of each row: sum ref^2
  double mean_square_ = 0, max_abs_expected_ = 0;
};

}  // namespace spscope
