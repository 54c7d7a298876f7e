// A fake device of the fake NCCL. Its thread runs kernels in the order of their launches and writes when each channel
// started and stopped, on a timer of its own, into a ring of 64 for each channel, as NCCL's kernels do. The proxy
// thread polls the rings, as NCCL's does, and tells the plugin.
#pragma once

#include <array>
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
  // Until all has run and is told.
  void wait();
  std::vector<Ran> ran() const;

 private:
  static constexpr int kRing = 64, kChannels = 32;
  struct Entry {
    std::uint64_t counter = 0, start = 0, stop = 0;
    bool started = false, stopped = false;
  };
  struct Kernel {
    void *context, *operation;
    int num_channels;
    std::int64_t duration_ns;
    std::vector<std::uint64_t> base;  // by channel: its number there
  };
  struct Poll {  // a channel of a kernel that the proxy has to tell
    void *context, *operation, *handle;
    int channel;
    std::uint64_t base;
    bool started;
  };
  void run();
  void proxy();
  bool poll_one(Poll& poll);

  FakeNccl& nccl_;
  const DeviceTimer timer_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::deque<Kernel> kernels_;
  std::deque<Poll> polls_;
  std::array<std::array<Entry, kRing>, kChannels> rings_ = {};
  std::array<std::uint64_t, kChannels> launched_ = {};
  std::vector<Ran> ran_;
  bool leaving_ = false, running_ = false;
  std::thread device_, proxy_;
};

}  // namespace spscope::fake_nccl
