// Speed of the CPU attention kernel as shares of what the core can do, measured in the same process and interleaved:
//   dense    FLOP rate of a dense head over the fp32 multiply-add peak of the core, for fp32 and bf16 storage
//   gemm     FLOP rate of a matrix product of a feed-forward network over the same peak, for both types (with oneDNN)
//   density  time over (density x dense time), for random masks of equal row load
// Every figure is the median over the rounds of a ratio taken inside one round, so that a clock or a neighbour that
// changes between rounds does not enter. FLOPs are those of the two products: 4 x head_dim x (pairs of q and k rows).
// Times are CPU times of the thread, so that another program on the core counts only by what it does to the caches.
//
//   kernel_bench [--rounds 5]
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "backend/base/clock.h"
#include "backend/base/dtype.h"
#include "backend/base/median.h"
#include "backend/base/rng.h"
#include "bench/flags.h"
#include "kernels/attention.h"
#include "kernels/calibrate.h"
#include "kernels/gemm.h"

namespace spscope::kernels {
namespace {

constexpr int kTokens = 4096, kHeadDim = 128, kBlock = 64;

// One head: q, k, v and states of all blocks, in one storage type.
class BenchHead {
 public:
  explicit BenchHead(Dtype dtype) : dtype_(dtype) {
    for (int token = 0; token < kTokens; token += kBlock) {
      const std::int64_t first = std::int64_t{token} * kHeadDim * dtype_bytes(dtype);
      q_blocks_.push_back({q_.data() + first, kBlock, kHeadDim});
      k_blocks_.push_back({k_.data() + first, kBlock, kHeadDim});
      v_blocks_.push_back({v_.data() + first, kBlock, kHeadDim});
      states_.push_back(
          {out_.data() + std::int64_t{token} * kHeadDim, row_max_.data() + token, row_sum_.data() + token, kHeadDim});
    }
  }

  int num_blocks() const { return static_cast<int>(q_blocks_.size()); }

  // Seconds of one call on fresh rows with `row_load` random active blocks in every row.
  double seconds(int row_load) {
    choose_tiles(row_load);
    for (int q_block = 0; q_block < num_blocks(); ++q_block) {
      clear_rows(kBlock, kHeadDim, states_[q_block]);
    }
    const float scale = 1 / std::sqrt(static_cast<float>(kHeadDim));
    const AttentionTask task{dtype_, kHeadDim, scale, q_blocks_, states_, k_blocks_, v_blocks_, row_begin_, k_block_};
    const std::int64_t begin_ns = thread_cpu_ns();
    attend(task, workspace_);
    return static_cast<double>(thread_cpu_ns() - begin_ns) * 1e-9;
  }

 private:
  // Elements in [-1, 1) as bytes of the storage type.
  std::vector<unsigned char> random_rows(std::uint64_t seed) const {
    Rng rng(seed);
    std::vector<unsigned char> bytes;
    for (int i = 0; i < kTokens * kHeadDim; ++i) {
      const float x = static_cast<float>(2 * rng.uniform() - 1);
      const Bf16 half = to_bf16(x);
      const auto* stored = dtype_ == Dtype::kFp32 ? reinterpret_cast<const unsigned char*>(&x)
                                                  : reinterpret_cast<const unsigned char*>(&half);
      bytes.insert(bytes.end(), stored, stored + dtype_bytes(dtype_));
    }
    return bytes;
  }

  void choose_tiles(int row_load) {
    Rng rng(row_load);
    row_begin_ = {0};
    k_block_.clear();
    std::vector<std::int32_t> order(num_blocks());
    for (int q_block = 0; q_block < num_blocks(); ++q_block) {
      std::iota(order.begin(), order.end(), 0);
      for (int i = 0; i < row_load; ++i) std::swap(order[i], order[i + rng.below(num_blocks() - i)]);
      std::sort(order.begin(), order.begin() + row_load);
      k_block_.insert(k_block_.end(), order.begin(), order.begin() + row_load);
      row_begin_.push_back(static_cast<std::int32_t>(k_block_.size()));
    }
  }

  const Dtype dtype_;
  std::vector<unsigned char> q_ = random_rows(1), k_ = random_rows(2), v_ = random_rows(3);
  std::vector<float> out_ = std::vector<float>(kTokens * kHeadDim), row_max_ = std::vector<float>(kTokens),
                     row_sum_ = row_max_;
  std::vector<RowBlock> q_blocks_, k_blocks_, v_blocks_;
  std::vector<RowState> states_;
  std::vector<std::int32_t> row_begin_, k_block_;
  AttentionWorkspace workspace_;
};

// A product of a chunk of tokens by a weight of a feed-forward network, 1536 to 8960 channels as in Wan2.1-1.3B.
class BenchGemm {
 public:
  explicit BenchGemm(Dtype dtype)
      : inputs_(gemm_input_dtype(dtype)),
        gemm_({kChunk, kIn, kOut, kIn, kOut, kOut, inputs_}),
        a_(static_cast<std::size_t>(kChunk * kIn) * sizeof(float)),
        b_(static_cast<std::size_t>(kIn * kOut) * sizeof(float)),
        c_(static_cast<std::size_t>(kChunk * kOut)) {}

  double gflop_per_s() {
    const std::int64_t begin_ns = thread_cpu_ns();
    gemm_.run(a_.data(), b_.data(), c_.data(), workspace_);
    return 2.0 * kChunk * kIn * kOut / static_cast<double>(thread_cpu_ns() - begin_ns);
  }

 private:
  static constexpr std::int64_t kChunk = 512, kIn = 1536, kOut = 8960;
  Dtype inputs_;
  Gemm gemm_;
  std::vector<unsigned char> a_, b_;  // zeros: the time of a product does not depend on its numbers
  std::vector<float> c_;
  GemmWorkspace workspace_;
};

struct Figure {
  std::string name;
  double value;
  int digits = 3;
};

int row_load_of(double density, int num_blocks) {
  return std::clamp(static_cast<int>(density * num_blocks + 0.5), 1, num_blocks);
}

// Shares of the peak, which is taken before and after.
double gemm_share(BenchGemm& gemm) {
  const double before = measure_fma_gflop_per_s(), rate = gemm.gflop_per_s();
  return rate / std::max(before, measure_fma_gflop_per_s());
}

// The figures of one round.
std::vector<Figure> run_round(BenchHead& fp32, BenchHead& bf16) {
  constexpr double flops = 4.0 * kHeadDim * kTokens * kTokens;
  const int num_blocks = fp32.num_blocks();
  const double peak_before = measure_fma_gflop_per_s(), dense_s = fp32.seconds(num_blocks);
  const double peak = std::max(peak_before, measure_fma_gflop_per_s()), dense = flops / dense_s * 1e-9;
  const double bf16_s = bf16.seconds(num_blocks);
  std::vector<Figure> figures = {{"fma peak, GFLOP/s", peak, 1},
                                 {"dense fp32, GFLOP/s", dense, 1},
                                 {"dense fp32 / peak", dense / peak},
                                 {"time bf16 / fp32", 2 * bf16_s / (dense_s + fp32.seconds(num_blocks))}};
  for (const std::string density : {"0.10", "0.20", "0.41", "0.70"}) {
    const int row_load = row_load_of(std::stod(density), num_blocks);
    const double share = static_cast<double>(row_load) / num_blocks;
    const double before_s = fp32.seconds(num_blocks), sparse_s = fp32.seconds(row_load);
    figures.push_back({"time at density " + density + " / (density x dense)", sparse_s / (share * before_s)});
  }
  return figures;
}

// Measures and prints.
void run(int num_rounds, std::ostream& out) {
  BenchHead fp32(Dtype::kFp32), bf16(Dtype::kBf16);
  fp32.seconds(fp32.num_blocks());
  bf16.seconds(bf16.num_blocks());
  std::vector<std::vector<Figure>> rounds;
  for (int i = 0; i < num_rounds; ++i) rounds.push_back(run_round(fp32, bf16));
  BenchGemm single(Dtype::kFp32), half(Dtype::kBf16);
  single.gflop_per_s(), half.gflop_per_s();
  for (std::vector<Figure>& round : rounds) {
    round.push_back({"gemm fp32 / peak", gemm_share(single)});
    round.push_back({"gemm bf16 / peak", gemm_share(half)});
  }
  out << std::left << std::fixed;
  const auto row = [&](const std::string& name) -> std::ostream& { return out << std::setw(44) << name; };
  row("instruction set") << dispatched_target() << "\n";
  row("copy, GB/s") << std::setprecision(1) << measure_copy_gbps() << "\n";
  for (std::size_t i = 0; i < rounds.front().size(); ++i) {
    std::vector<double> values;
    for (const std::vector<Figure>& round : rounds) values.push_back(round[i].value);
    const Figure& figure = rounds.front()[i];
    row(figure.name) << std::setprecision(figure.digits) << median(values) << "\n";
  }
}

}  // namespace
}  // namespace spscope::kernels

int main(int argc, char** argv) {
  int rounds = 5;
  if (!spscope::read_flags(argc, argv, {{"--rounds", &rounds}})) return 2;
  spscope::kernels::run(rounds, std::cout);
}
