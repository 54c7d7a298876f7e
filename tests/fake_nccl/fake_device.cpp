#include "tests/fake_nccl/fake_device.h"

#include <chrono>

#include "backend/base/clock.h"

namespace spscope::fake_nccl {

FakeDevice::FakeDevice(FakeNccl& nccl, DeviceTimer timer) : nccl_(nccl), timer_(timer), thread_([this] { run(); }) {}

FakeDevice::~FakeDevice() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void FakeDevice::launch(void* context, void* operation, int num_channels, std::int64_t duration_ns) {
  const std::lock_guard lock(mutex_);
  kernels_.push_back({context, operation, num_channels, duration_ns});
  wake_.notify_all();
}

void FakeDevice::wait() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return kernels_.empty(); });
}

std::vector<Ran> FakeDevice::ran() const {
  const std::lock_guard lock(mutex_);
  return ran_;
}

Ran FakeDevice::run_one(const Kernel& kernel) {
  Ran ran = {.begin_ns = now_ns()};
  const bool is_told = kernel.operation != nullptr;
  std::vector<void*> channels;
  for (int channel = 0; channel < kernel.num_channels && is_told; ++channel)
    channels.push_back(nccl_.start_channel(kernel.context, kernel.operation, channel, timer_.at(now_ns())));
  std::this_thread::sleep_for(std::chrono::nanoseconds(kernel.duration_ns));
  ran.end_ns = now_ns();
  for (void* const channel : channels) nccl_.stop_channel(channel, timer_.at(ran.end_ns));
  return ran;
}

void FakeDevice::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return leaving_ || !kernels_.empty(); });
    if (kernels_.empty()) return;
    const Kernel kernel = kernels_.front();
    lock.unlock();
    const Ran ran = run_one(kernel);
    lock.lock();
    kernels_.pop_front();
    ran_.push_back(ran);
    wake_.notify_all();
  }
}

}  // namespace spscope::fake_nccl
