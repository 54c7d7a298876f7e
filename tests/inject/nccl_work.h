// What a program does with NCCL, the fake one, which finds its profiler by NCCL_PROFILER_PLUGIN as NCCL does and closes
// it with the last communicator.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/fake_nccl/fake_device.h"
#include "tests/fake_nccl/fake_nccl.h"

namespace spscope {

// A communicator "tp".
class NcclWork {
 public:
  // `newest`: the newest interface that NCCL knows, 3 to 6. This process is `rank` of `num_ranks`.
  explicit NcclWork(int newest, std::uint64_t hash = 0x5eed, int num_ranks = 8, int rank = 3)
      : nccl_(newest, plugin()), context_(nccl_.init(hash, "tp", num_ranks, rank)) {
    std::printf("profiler interface v%d, events %#x\n", nccl_.interface(), nccl_.mask());
  }
  ~NcclWork() {
    device_.reset();
    nccl_.finalize(context_);
  }
  NcclWork(const NcclWork&) = delete;
  NcclWork& operator=(const NcclWork&) = delete;

  // All-reduces of 1000 floats on two channels, numbered from 0 on, and waits until NCCL has told all of each.
  void reduce(int number) {
    for (int i = 0; i < number; ++i) {
      enqueue({.sequence = sequence_++, .count = 1000, .channels = 2});
      device_->wait();
    }
  }
  // Sends of 12 bytes to rank 6, without waiting: they end when this does.
  void send(int number) {
    for (int i = 0; i < number; ++i)
      enqueue({.function = "Send", .count = 12, .dtype = "ncclInt8", .channels = 1, .peer = 6});
  }

 private:
  static const char* plugin() {
    const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
    return name == nullptr ? "libnccl-profiler.so" : name;
  }
  void enqueue(const fake_nccl::Work& work) {
    void* const call = nccl_.start_call(context_, work.function);
    void* const operation = nccl_.start(context_, call, work);
    nccl_.stop(operation);
    nccl_.stop(call);
    device_->launch(context_, operation, work.channels, 20'000);
  }

  fake_nccl::FakeNccl nccl_;
  std::optional<fake_nccl::FakeDevice> device_{std::in_place, nccl_, fake_nccl::DeviceTimer{}};
  void* context_;
  std::uint64_t sequence_ = 0;
};

}  // namespace spscope
