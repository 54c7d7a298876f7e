// Reference: what a layer's attentions, or a whole layer, must give, computed in double precision from the whole
// activations and the masks, without any plan; and the verdict on what a run gave.
//
// Rows (one head of one query token; of a whole layer all channels of one token) are judged one by one by their
// normalised mean square error, sum (x - ref)^2 / sum ref^2, since an error in one row of millions would vanish in the
// error of the whole tensor. A row whose reference is nearly zero by chance is normalised by a hundredth of the mean
// row instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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

// The largest error of a row of attention alone that passes.
// fp32: sums in another order and the kernel's exponential leave at most 1.3e-11 in the conformance tests, whose scores
// and `cancellation` (below) are small; 1e-10 covers them. A score is a sum of D = head_dim products; with A, the sum
// of their absolute values, no partial sum is larger than A, and each is rounded by at most u A = 2^-24 A, which adds
// up as a random walk to u sqrt(D) A. It moves the weight of its key by that factor, and the row by as much at most. So
// a row of A = `largest_products` passes up to 1e-10 + (u sqrt(D) A)^2. What is seen: a missing tile, about 1 / tiles
// of the row. The exponential moves each weight p by at most e = 2.5e-7 of it, e^2 / 3 in the mean square, and the sum
// of p v over n = `keys` keys is rounded n times, by at most u of what is summed so far, whose square is half of that
// of the end in the mean: n u^2 / 6. Both count `cancellation` times; 16 times their sum is passed besides, the tail
// that bf16 has. bf16: rounding an output to 8 significant bits is off by at most 2^-8 of it, so that no row exceeds
// 2^-16 = 1.5e-5; 1.35e-5 in the conformance tests; 5e-5 leaves room for what scores do. Kernels for tensor cores round
// each weight p to bf16, too, by at most 2^-9 of it, 2^-18 / 3 in the mean square. The error of a row is the sum of p v
// times that, in the mean square `cancellation` = sum (p |v|)^2 / |row|^2 times as much: about 1 for most rows, 100 for
// a row whose values happen to cancel, as narrow ones do. 16 times the mean covers the tail of a million rows of 4
// channels (a chi-square law); 2e-4 was seen for heads of 4 channels on an H100. A missing tile costs such a row as
// much more. nullopt: (u sqrt(D) A)^2 exceeds 2e-5, where fp32 scores leave too little of a row to tell right from
// wrong.
std::optional<double> attention_tolerance(Dtype dtype, int head_dim, std::int64_t keys, double largest_products,
                                          double cancellation);

// The same of a whole layer, whose queries and keys are normed.
// fp32 leaves at most 4e-13 in the tests, where rows of one layer are some 100 numbers wide. In bf16 every value that a
// plan stores on the way is rounded too, x itself up to 8 times (2^-18 a time in the mean), and scores of attention
// move with q and k: at most 7e-5 in one block and 1.6e-4 in a spatial-temporal pair with two feed-forward networks, so
// 5e-4 for wide rows. Rows of C channels differ in their squares: of n rows with normal numbers the smallest has about
// n^(-2/C) of the mean, since the chance of less than a share t is about t^(C/2). The metric divides by the squares of
// a row, and its norms by its variance, so the tolerance is n^(4/C) times that of wide rows: 1.05 for 75,600 rows of
// 1,024 channels, 20 for 384 rows of 8; at most 100 times, since the metric divides by no less than a hundredth of the
// mean. What is seen: in fp32 a missing tile. In bf16 a missing step of a ring (6e-3 or more) and swapped heads (4e-2
// or more) always, and in the tests a gate or a kernel that is missing (5e-3 or more); a single missing tile of one
// head in all of 512 to 1,024 tokens, but at 4,096 tokens and 6 heads 45 % of the tiles leave less than the tolerance,
// since one head of many is mixed into all channels of a row. Whoever doubts single tiles of a long sequence verifies
// in fp32, or attention alone.
double layer_tolerance(Dtype dtype, std::int64_t num_rows, std::int64_t channels);

struct Verification {
  Verdict verdict = Verdict::kSkipped;
  double max_error = 0;      // of any row that was judged, or of a replica of any row, by kErrorMetric
  double nmse = 0;           // of all compared rows together
  double max_abs_error = 0;  // of any element
  std::int64_t num_rows = 0;
  // Of these rows, without a tolerance: when nothing failed the verdict is kSkipped. Replicas that differ by any finite
  // error do not fail then, since the row may be one of these.
  std::int64_t num_unjudged = 0;
  // The row whose error is the largest share of its tolerance; the head of a whole layer's row is 0.
  int worst_layer = 0, worst_head = 0;
  std::int32_t worst_outer = 0, worst_inner = 0;
};

// Why a reference would take too long: a sample of a whole layer needs keys and values of all its tokens.
std::vector<Problem> cannot_verify(const Request& request, VerifyExtent extent);

class Reference {
 public:
  // kFull: all rows. kSample: rows chosen by `seed`, at least one of every head, each against all its keys; about a
  // second of work, of whole layers up to half a minute. kOff: none. Throws Error with what cannot_verify says. Leaves
  // early once `interrupt` is set; the reference is then not to be used.
  Reference(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed,
            const std::atomic<bool>* interrupt = nullptr);

  // Compares a run's outputs: of a row that several ranks hold, the lowest rank's with the reference, and every other
  // one with it, all rows of the output, by the same metric and the largest tolerance of any row that has one.
  Verification check(std::span<const OutputTensor> outputs) const;
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows_.size()); }
  // Memory of the expected outputs.
  std::int64_t num_bytes() const { return static_cast<std::int64_t>(expected_.size() * sizeof(double)); }

 private:
  // Elements of a row.
  int row_width() const { return whole_layer_ ? shape_.hidden : shape_.head_dim; }
  struct Row {
    int layer = 0, batch_entry = 0, head = 0;
    std::int32_t outer = 0, inner = 0;
  };
  void add_attentions(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed);
  void add_layer(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed);
  bool interrupted() const { return interrupt_ != nullptr && interrupt_->load(); }
  std::vector<Row> choose_rows(const Request& request, int layer, VerifyExtent extent, std::uint64_t seed) const;
  void compute(const Request& request, const Activations& activations, std::span<const Row> rows);
  // Squared error of one row; raises max_abs_error.
  double squared_error(std::size_t index, const OutputTensor& output, Verification& result) const;
  // Whether the row passes.
  bool judge_row(std::size_t index, double squared, double& worst_share, Verification& result) const;

  // Shape of the whole tensors, to find a row in an output.
  Activations shape_;
  bool whole_layer_;
  Dtype dtype_;
  const std::atomic<bool>* interrupt_;
  std::vector<Row> rows_;
  std::vector<double> expected_;               // [rows, row_width]
  std::vector<double> squares_;                // of each row: sum ref^2
  std::vector<std::optional<double>> limits_;  // of each row: the largest error that passes
  double mean_square_ = 0;
};

}  // namespace spscope
