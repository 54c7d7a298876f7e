#include "tests/fake_nccl/fake_device.h"

#include <chrono>

#include "backend/base/clock.h"

namespace spscope::fake_nccl {
namespace {

std::size_t at(std::uint64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

FakeDevice::FakeDevice(FakeNccl& nccl, DeviceTimer timer)
    : nccl_(nccl), timer_(timer), device_([this] { run(); }), proxy_([this] { proxy(); }) {}

FakeDevice::~FakeDevice() {
  wait();
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_all();
  device_.join();
  proxy_.join();
}

void FakeDevice::launch(void* context, void* operation, int num_channels, std::int64_t duration_ns) {
  const std::lock_guard lock(mutex_);
  Kernel kernel = {context, operation, num_channels, duration_ns, {}};
  for (int channel = 0; channel < num_channels; ++channel) {
    kernel.base.push_back(++launched_[at(channel)]);
    if (operation != nullptr) polls_.push_back({context, operation, nullptr, channel, kernel.base.back(), false});
  }
  kernels_.push_back(kernel);
  wake_.notify_all();
}

void FakeDevice::wait() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return kernels_.empty() && !running_ && polls_.empty(); });
}

std::vector<Ran> FakeDevice::ran() const {
  const std::lock_guard lock(mutex_);
  return ran_;
}

void FakeDevice::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return leaving_ || !kernels_.empty(); });
    if (kernels_.empty()) return;
    const Kernel kernel = kernels_.front();
    kernels_.pop_front();
    running_ = true;
    Ran ran = {.begin_ns = now_ns()};
    for (int channel = 0; channel < kernel.num_channels; ++channel)
      rings_[at(channel)][at(kernel.base[at(channel)] % kRing)] = {
          .counter = kernel.base[at(channel)], .start = timer_.at(now_ns()), .started = true};
    lock.unlock();
    wake_.notify_all();
    std::this_thread::sleep_for(std::chrono::nanoseconds(kernel.duration_ns));
    lock.lock();
    for (int channel = 0; channel < kernel.num_channels; ++channel) {
      Entry& entry = rings_[at(channel)][at(kernel.base[at(channel)] % kRing)];
      ran.end_ns = now_ns();
      entry.stop = timer_.at(ran.end_ns);
      entry.stopped = true;
    }
    ran_.push_back(ran);
    running_ = false;
    wake_.notify_all();
  }
}

// Whether the channel was told to its end. NCCL, too, looks whether the counter has reached its number.
bool FakeDevice::poll_one(Poll& poll) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    entry = rings_[at(poll.channel)][at(poll.base % kRing)];
  }
  if (entry.counter < poll.base) return false;
  if (!poll.started) {
    poll.handle = nccl_.start_channel(poll.context, poll.operation, poll.channel, entry.start);
    poll.started = true;
    return false;
  }
  if (!entry.stopped) return false;
  nccl_.stop_channel(poll.handle, entry.stop);
  return true;
}

void FakeDevice::proxy() {
  for (;;) {
    std::deque<Poll> mine;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::microseconds(20), [&] { return leaving_; });
      if (leaving_ && polls_.empty()) return;
      mine = polls_;
    }
    for (Poll& poll : mine)
      if (poll_one(poll)) poll.operation = nullptr;
    const std::lock_guard lock(mutex_);
    // Those that were added meanwhile lie behind.
    std::copy(mine.begin(), mine.end(), polls_.begin());
    std::erase_if(polls_, [](const Poll& poll) { return poll.operation == nullptr; });
    wake_.notify_all();
  }
}

}  // namespace spscope::fake_nccl
