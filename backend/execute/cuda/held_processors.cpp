#include "backend/execute/cuda/held_processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <span>
#include <thread>

#include "backend/base/clock.h"
#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

constexpr std::int64_t kLimitNs = 10'000'000'000;  // an attention beside them takes some milliseconds

std::span<std::uint32_t> words_of(const HostMemory& memory) {
  const std::span<std::byte> bytes = memory.bytes();
  return {reinterpret_cast<std::uint32_t*>(bytes.data()), bytes.size() / sizeof(std::uint32_t)};
}

}  // namespace

HeldProcessors::HeldProcessors(Gpu& gpu, int count)
    : gpu_(gpu),
      count_(count),
      current_(gpu.context()),
      stream_(gpu.context()),
      words_(gpu.context(), sizeof(std::uint32_t) * static_cast<std::size_t>(count + 1)),
      launch_{kernels::cuda::choose_hold(gpu.facts().max_shared_bytes), static_cast<unsigned>(count),
              kernels::cuda::Hold{reinterpret_cast<const std::uint32_t*>(words_.address()),
                                  reinterpret_cast<std::uint32_t*>(words_.address()) + 1, kLimitNs}} {
  gpu.load(launch_.kernel);
}

void HeldProcessors::hold() {
  const std::span<std::uint32_t> words = words_of(words_);
  std::ranges::fill(words, 0);
  gpu_.launch(launch_, stream_.get());
  is_held_ = true;
  const std::int64_t end_ns = now_ns() + kLimitNs;
  while (std::atomic_ref(words[1]).load() == 0) {
    const CUresult state = driver().cuStreamQuery(stream_.get());
    if (state != CUDA_ERROR_NOT_READY) check(state, "the kernel that holds SMs");
    if (now_ns() > end_ns)
      throw Error(ErrorCode::kDeviceFailed, "the kernel that holds SMs does not start",
                  "end other programs on the GPU (`nvidia-smi`) and try again");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void HeldProcessors::release() noexcept {
  if (!is_held_) return;
  std::atomic_ref(words_of(words_)[0]).store(1);
  driver().cuStreamSynchronize(stream_.get());
  is_held_ = false;
}

void HeldProcessors::end() {
  release();
  check(driver().cuStreamSynchronize(stream_.get()), "the kernel that holds SMs");
  const std::span<const std::uint32_t> places = words_of(words_).subspan(1);
  const std::set<std::uint32_t> different(places.begin(), places.end());
  if (different.size() == places.size() && !different.contains(0) && !different.contains(kernels::cuda::kHoldGaveUp))
    return;
  throw Error(
      ErrorCode::kDeviceFailed,
      fmt::format(
          "{} SMs could not be held beside an attention: blocks shared an SM, or the attention waited for them, "
          "as it does where both streams share a hardware queue",
          count_),
      "end other programs on the GPU (`nvidia-smi`), unset CUDA_DEVICE_MAX_CONNECTIONS, or try fewer with --comm-sms");
}

}  // namespace spscope::cuda
