// The kernel that packs cells, as before a message of heads: rows of [tokens, heads, head_dim] become
// [heads, tokens, head_dim]. Its bytes a second, beside those of a plain copy of as much memory by the driver.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "backend/base/median.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/memory.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/workload.h"

namespace spscope::gpu_check {
namespace {

namespace kc = kernels::cuda;

constexpr double kOfCopy = 0.85;
constexpr int kElementBytes = 2;

// 400 MB each way, eight times the second-level cache; tiny: 8 KB.
struct Shape {
  std::int64_t tokens, heads, cell_bytes;
  std::int64_t num_bytes() const { return tokens * heads * cell_bytes; }
};

std::vector<kc::CopyPiece> pieces_of(const Shape& shape, CUdeviceptr from, CUdeviceptr to) {
  const std::int64_t cells = std::max<std::int64_t>(1, kc::kBytesOfPiece / shape.cell_bytes);
  std::vector<kc::CopyPiece> pieces;
  for (std::int64_t head = 0; head < shape.heads; ++head)
    for (std::int64_t token = 0; token < shape.tokens; token += cells) {
      kc::CopyPiece piece{};
      const auto at = [&](CUdeviceptr base, std::int64_t cell) {
        return base + static_cast<CUdeviceptr>(cell * shape.cell_bytes);
      };
      piece.from = reinterpret_cast<const void*>(at(from, token * shape.heads + head));
      piece.to = reinterpret_cast<void*>(at(to, head * shape.tokens + token));
      piece.from_stride_bytes = shape.heads * shape.cell_bytes;
      piece.to_stride_bytes = shape.cell_bytes;
      piece.cell_bytes = shape.cell_bytes;
      piece.cells = static_cast<std::int32_t>(std::min(cells, shape.tokens - token));
      pieces.push_back(piece);
    }
  return pieces;
}

// Two buffers, with the work that moves one to the other.
class PackBench {
 public:
  explicit PackBench(const Shape& shape)
      : shape_(shape),
        gpu_(cuda::Gpu::of(0)),
        current_(gpu_.context()),
        stream_(gpu_.context()),
        from_(gpu_.context(), static_cast<std::size_t>(shape.num_bytes())),
        to_(gpu_.context(), static_cast<std::size_t>(shape.num_bytes())),
        begin_(gpu_.context(), cuda::EventTiming::kTimed),
        end_(gpu_.context(), cuda::EventTiming::kTimed) {
    const std::vector<kc::CopyPiece> pieces = pieces_of(shape, from_.address(), to_.address());
    table_ = std::make_unique<cuda::DeviceMemory>(gpu_.context(), pieces.size() * sizeof(kc::CopyPiece));
    table_->write(std::as_bytes(std::span(pieces)));
    const auto count = static_cast<std::int32_t>(pieces.size());
    launch_ = {kc::choose_copy(), static_cast<unsigned>(count),
               kc::Copy{reinterpret_cast<const kc::CopyPiece*>(table_->address()), count, 0}};
    gpu_.load(launch_.kernel);
  }

  // Milliseconds. The first of two runs is the warm-up, so that the device does not wait for the host.
  double pack_ms() {
    return time([&] { gpu_.launch(launch_, stream_.get()); });
  }
  double copy_ms() {
    return time([&] {
      cuda::check(cuda::driver().cuMemcpyAsync(to_.address(), from_.address(), from_.num_bytes(), stream_.get()),
                  "cuMemcpyAsync");
    });
  }
  // Whether cells of each head went where they belong.
  bool is_right() {
    std::vector<std::uint32_t> words(from_.num_bytes() / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(i);
    from_.write(std::as_bytes(std::span(words)));
    pack_ms();
    cuda::check(cuda::driver().cuMemcpyDtoHAsync(words.data(), to_.address(), to_.num_bytes(), stream_.get()),
                "cuMemcpyDtoHAsync");
    cuda::check(cuda::driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
    const auto words_of_cell = static_cast<std::size_t>(shape_.cell_bytes) / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t cell = i / words_of_cell, head = cell / static_cast<std::size_t>(shape_.tokens),
                        token = cell % static_cast<std::size_t>(shape_.tokens);
      if (words[i] != (token * static_cast<std::size_t>(shape_.heads) + head) * words_of_cell + i % words_of_cell)
        return false;
    }
    return true;
  }

 private:
  template <typename Work>
  double time(const Work& work) {
    work();
    cuda::check(cuda::driver().cuEventRecord(begin_.get(), stream_.get()), "cuEventRecord");
    work();
    cuda::check(cuda::driver().cuEventRecord(end_.get(), stream_.get()), "cuEventRecord");
    cuda::check(cuda::driver().cuEventSynchronize(end_.get()), "cuEventSynchronize");
    float ms = 0;
    cuda::check(cuda::driver().cuEventElapsedTime(&ms, begin_.get(), end_.get()), "cuEventElapsedTime");
    return ms;
  }

  Shape shape_;
  cuda::Gpu& gpu_;
  cuda::CurrentContext current_;
  cuda::Stream stream_;
  cuda::DeviceMemory from_, to_;
  cuda::Event begin_, end_;
  std::unique_ptr<cuda::DeviceMemory> table_;
  cuda::Launch launch_;
};

}  // namespace

CheckResult check_pack(const CheckContext& context) {
  const Heads heads = bench_heads(context.tiny);
  const Shape shape{context.tiny ? 128 : 131072, heads.heads, heads.head_dim * kElementBytes};
  PackBench bench(shape);
  CheckResult result;
  if (!bench.is_right()) result.faults.emplace_back("cells are not where packing puts them");
  std::vector<double> pack, copy, ratios;
  for (int round = 0; round < context.rounds_of(30, 2); ++round) {
    copy.push_back(bench.copy_ms());
    pack.push_back(bench.pack_ms());
    ratios.push_back(copy.back() / pack.back());
  }
  // Each byte is read and written.
  const auto gbps = [&](const std::vector<double>& ms) {
    return 2e-6 * static_cast<double>(shape.num_bytes()) / median(ms);
  };
  result.facts["workload"] =
      fmt::format("{} tokens, {} heads, cells of {} bytes", shape.tokens, shape.heads, shape.cell_bytes);
  result.figures = {{"pack over copy", "", median(ratios), Bound::kAtLeast, kOfCopy},
                    {"pack", "GB/s", gbps(pack)},
                    {"copy", "GB/s", gbps(copy)}};
  return result;
}

}  // namespace spscope::gpu_check
