#include "tests/inject/nccl_work.h"

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/fake_nccl/fake_device.h"
#include "tests/fake_nccl/fake_nccl.h"

namespace spscope {
namespace {

const char* plugin() {
  const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
  return name == nullptr ? "libnccl-profiler.so" : name;
}

}  // namespace

struct NcclWork::Parts {
  explicit Parts(int newest) : nccl(newest, plugin()), device(std::in_place, nccl, fake_nccl::DeviceTimer{}) {}

  void enqueue(const fake_nccl::Work& work) {
    void* const call = nccl.start_call(context, work.function);
    void* const operation = nccl.start(context, call, work);
    nccl.stop(operation);
    nccl.stop(call);
    device->launch(context, operation, work.channels, 20'000);
  }

  fake_nccl::FakeNccl nccl;
  std::optional<fake_nccl::FakeDevice> device;
  void* context = nccl.init(0x5eed, "tp", 8, 3);
  std::uint64_t sequence = 0;
};

NcclWork::NcclWork(int newest) : parts_(std::make_unique<Parts>(newest)) {
  std::printf("profiler interface v%d, events %#x\n", parts_->nccl.interface(), parts_->nccl.mask());
}

NcclWork::~NcclWork() {
  parts_->device.reset();
  parts_->nccl.finalize(parts_->context);
}

void NcclWork::reduce(int number) {
  for (int i = 0; i < number; ++i) {
    parts_->enqueue({.sequence = parts_->sequence++, .count = 1000, .channels = 2});
    parts_->device->wait();
  }
}

void NcclWork::send(int number) {
  for (int i = 0; i < number; ++i)
    parts_->enqueue({.function = "Send", .count = 12, .dtype = "ncclInt8", .channels = 1, .peer = 6});
}

}  // namespace spscope
