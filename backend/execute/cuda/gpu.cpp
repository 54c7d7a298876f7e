#include "backend/execute/cuda/gpu.h"

#include <cmath>
#include <limits>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/execute/cuda/driver.h"
#include "kernels/cuda/images.h"

namespace spscope::cuda {

Gpu::Gpu(Key, int device)
    : context_(device),
      facts_(gpus()[static_cast<std::size_t>(device)]),
      module_(context_, kernels::cuda::kernel_image()),
      clock_(context_),
      start_(std::make_unique<Event>(context_, EventTiming::kTimed)),
      spare_(std::make_unique<Event>(context_, EventTiming::kTimed)) {}

Gpu& Gpu::of(int device) {
  // Never destroyed: the driver may be gone by the time that static objects are.
  static auto* const all = std::make_unique<std::map<int, std::unique_ptr<Gpu>>>().release();
  std::unique_ptr<Gpu>& gpu = (*all)[device];
  if (gpu != nullptr && gpu->has_failed()) gpu.reset();
  if (gpu == nullptr) gpu = std::make_unique<Gpu>(Key(), device);
  return *gpu;
}

// An error of a kernel stays with the context.
bool Gpu::has_failed() const {
  if (!push_context(context_)) return true;
  const CUresult state = driver().cuCtxSynchronize();
  pop_context();
  return state != CUDA_SUCCESS;
}

void Gpu::load(const kernels::cuda::KernelChoice& kernel) {
  Loaded& loaded = functions_[kernel.name];
  if (loaded.function != nullptr && kernel.shared_bytes <= loaded.shared_bytes) return;
  loaded = {module_.function(kernel.name, static_cast<int>(kernel.shared_bytes)), kernel.shared_bytes};
}

void Gpu::launch(const Launch& launch, CUstream stream) const {
  const auto found = functions_.find(launch.kernel.name);
  SPSCOPE_CHECK(found != functions_.end());
  std::visit(
      [&](const auto& argument) {
        void* arguments[] = {const_cast<void*>(static_cast<const void*>(&argument))};
        check(driver().cuLaunchKernel(found->second.function, launch.num_blocks, 1, 1,
                                      static_cast<unsigned>(launch.kernel.threads), 1, 1,
                                      static_cast<unsigned>(launch.kernel.shared_bytes), stream, arguments, nullptr),
              "cuLaunchKernel of " + launch.kernel.name);
      },
      launch.argument);
}

void Gpu::enqueue(const OpWork& work, CUstream stream) const {
  if (work.num_zeros > 0)
    check(driver().cuMemsetD8Async(work.zeros, 0, static_cast<std::size_t>(work.num_zeros), stream), "cuMemsetD8Async");
  for (const Launch& one : work.launches) launch(one, stream);
}

// Of several tries the one that the host saw most closely: it may be kept from running meanwhile, and a GPU that
// several processes share is with another one for milliseconds.
void Gpu::start_clock() {
  constexpr int kTries = 100;
  constexpr std::int64_t kClose = 30'000;  // ns; an idle GPU takes some 10 us
  const CurrentContext current(context_);
  std::int64_t closest_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kTries && closest_ns > kClose; ++i) {
    const std::int64_t before_ns = now_ns();
    check(driver().cuEventRecord(spare_->get(), clock_.get()), "cuEventRecord");
    check(driver().cuEventSynchronize(spare_->get()), "cuEventSynchronize");
    const std::int64_t took_ns = now_ns() - before_ns;
    if (took_ns >= closest_ns) continue;
    closest_ns = took_ns;
    start_ns_ = before_ns + took_ns / 2;
    std::swap(start_, spare_);
  }
}

std::int64_t Gpu::host_ns(const Event& event) const {
  float ms = 0;
  CUresult result = driver().cuEventElapsedTime(&ms, start_->get(), event.get());
  if (result == CUDA_ERROR_NOT_READY) {  // the word behind the event may be seen a moment before the event is
    check(driver().cuEventSynchronize(event.get()), "cuEventSynchronize");
    result = driver().cuEventElapsedTime(&ms, start_->get(), event.get());
  }
  check(result, "cuEventElapsedTime");
  return start_ns_ + std::llround(double{ms} * 1e6);
}

}  // namespace spscope::cuda
