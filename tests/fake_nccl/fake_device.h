// A fake device of the fake NCCL. Its thread runs kernels in the order of their launches and tells the plugin, as
// NCCL's proxy thread does, when each channel started and stopped, on a timer of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/fake_nccl/fake_nccl.h"

namespace spscope::fake_nccl {

// From the raw clock of the host.
struct DeviceTimer {
  std::int64_t offset_ns = 0;
  double drift = 0;
  std::uint64_t at(std::int64_t host_ns) const {
    return static_cast<std::uint64_t>(host_ns + offset_ns +
                                      static_cast<std::int64_t>(drift * static_cast<double>(host_ns)));
  }
};

// When a kernel was on the device, on the raw clock.
struct Ran {
  std::int64_t begin_ns = 0, end_ns = 0;
};

class FakeDevice {
 public:
  FakeDevice(FakeNccl& nccl, DeviceTimer timer);
  // Waits until all that was launched has run and is told.
  ~FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  // A kernel on channels [0, num_channels), for so long.
  void launch(void* context, void* operation, int num_channels, std::int64_t duration_ns);
  // Waits until all work has run and the profiler has heard of it.
  void wait();
  std::vector<Ran> ran() const;

 private:
  struct Kernel {
    void *context, *operation;
    int num_channels;
    std::int64_t duration_ns;
  };
  void run();
  Ran run_one(const Kernel& kernel);

  FakeNccl& nccl_;
  const DeviceTimer timer_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<Kernel> kernels_;  // the first one runs
  std::vector<Ran> ran_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace spscope::fake_nccl
