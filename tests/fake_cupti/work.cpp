// The work of a program, as records.
#include <array>
#include <new>
#include <utility>

#include "tests/fake_cupti/control.h"
#include "tests/fake_cupti/fake.h"

namespace spscope::fake_cupti {
namespace {

constexpr std::array kNames = {"attend_mma", "merge_rows", "copy_rows"};

// By which domain the program works, and the call of each domain.
struct Calls {
  std::uint32_t driver = 0, runtime = 0;
};

void call(const FakeWork& work, const Calls& calls) {
  const bool runtime = work.runtime != 0;
  write_call(runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER, runtime ? calls.runtime : calls.driver,
             77);
}

constexpr Calls kLaunch = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000};
constexpr Calls kCopy = {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020};
constexpr Calls kCopyBetweenGpus = {CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync,
                                    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000};
constexpr Calls kSetMemory = {CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020};
constexpr Calls kSynchronise = {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                                CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020};
constexpr Calls kQuery = {CUPTI_DRIVER_TRACE_CBID_cuEventQuery, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020};

// A kernel of this call. Without times: it is still at work when it has to be handed over.
void write_kernel(std::uint32_t correlation, bool timed) {
  Fake& f = fake();
  std::array<std::uint64_t, 64> room = {};  // as long as kernel_bytes may say
  Kernel& record = *new (room.data()) Kernel{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const bool untimed = !timed || (f.settings.untimed > 0 && ++f.num_kernels % f.settings.untimed == 0);
  record.start = untimed ? 0 : f.timestamp();
  record.end = untimed ? 0 : record.start + 100;
  record.deviceId = 3;
  record.contextId = 1;
  record.streamId = 7;
  record.gridX = static_cast<std::int32_t>(correlation);
  if (f.settings.shapes > 0) record.gridX = record.gridX % f.settings.shapes + 1;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 96;
  record.staticSharedMemory = 512;
  record.dynamicSharedMemory = 65536;
  record.correlationId = correlation;
  record.gridId = 40 + correlation;
  record.name = kNames[correlation % kNames.size()];
  write(&record, record_bytes(record.kind));
}

void launch(const FakeWork& work) {
  call(work, kLaunch);
  if (enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) write_kernel(fake().correlation, true);
}

void launch_without_end(const FakeWork& work) {
  Fake& f = fake();
  call(work, kLaunch);
  if (!enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  f.unended[f.correlation] = f.current.number;
  f.unended_kernels.push_back(f.correlation);
}

void end_kernels(bool timed) {
  for (const std::uint32_t correlation : std::exchange(fake().unended_kernels, {})) {
    write_kernel(correlation, timed);
    fake().unended.erase(correlation);
  }
}

template <typename Record>
Record copy_record(CUpti_ActivityKind kind) {
  Record record = {};
  record.kind = kind;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = 4096;
  record.start = fake().timestamp();
  record.end = record.start + 10;
  record.contextId = 1;
  record.streamId = 8;
  record.correlationId = fake().correlation;
  return record;
}

void copy(const FakeWork& work) {
  call(work, kCopy);
  if (enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) write(copy_record<Copy>(CUPTI_ACTIVITY_KIND_MEMCPY));
}

void copy_between_gpus(const FakeWork& work) {
  call(work, kCopyBetweenGpus);
  if (!enabled(CUPTI_ACTIVITY_KIND_MEMCPY2)) return;
  PeerCopy record = copy_record<PeerCopy>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.dstDeviceId = 1;
  write(record);
}

void set_memory(const FakeWork& work) {
  call(work, kSetMemory);
  if (!enabled(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  Memset record = {};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = 17;
  record.bytes = 256;
  record.start = fake().timestamp();
  record.end = record.start + 3;
  record.streamId = 8;
  record.correlationId = fake().correlation;
  write(record);
}

void synchronise(const FakeWork& work) {
  call(work, kSynchronise);
  if (!enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  Synchronization record = {};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  record.start = fake().timestamp();
  record.end = record.start + 30;
  record.streamId = 7;
  record.cudaEventId = 0;
  record.correlationId = fake().correlation;
  write(record);
}

void range() {
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 5, "layer 3", "model");
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, 5, nullptr, "model");
}

void overhead() {
  if (!enabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  Overhead record = {};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = 31;
  record.objectId.pt.threadId = 77;
  record.start = fake().timestamp();
  record.end = record.start + 2;
  write(record);
}

// -- the other client, which takes CUPTI over

alignas(8) std::uint8_t buffer_of_other[4096];  // that it gives again and again, and never reads
int num_unknown_to_other = 0;

void CUPTIAPI request_of_other(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = buffer_of_other;
  *size = sizeof buffer_of_other;
  *max_records = 0;
}

void CUPTIAPI complete_for_other(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  if (buffer != buffer_of_other) ++num_unknown_to_other;
}

std::uint64_t CUPTIAPI ticks_of_other() {
  static std::uint64_t ticks = 0;
  return ++ticks;
}

}  // namespace

void give_up_kernels() { end_kernels(false); }

extern "C" {

void spscope_fake_cupti_reset(const char* settings) {
  const Lock lock(fake().mutex);
  static_cast<State&>(fake()) = {};
  fake().settings = read_settings(settings);
  pushed_ids().clear();
}

void spscope_fake_cupti_run(const FakeWork* work, unsigned repeats) {
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    const Lock lock(fake().mutex);
    for (unsigned i = 0; i < work->markers; ++i) range();
    for (unsigned i = 0; i < work->launches; ++i) launch(*work);
    for (unsigned i = 0; i < work->unended; ++i) launch_without_end(*work);
    for (unsigned i = 0; i < work->copies; ++i) copy(*work);
    for (unsigned i = 0; i < work->peer_copies; ++i) copy_between_gpus(*work);
    for (unsigned i = 0; i < work->memsets; ++i) set_memory(*work);
    for (unsigned i = 0; i < work->synchronisations; ++i) synchronise(*work);
    for (unsigned i = 0; i < work->overheads; ++i) overhead();
    for (unsigned i = 0; i < work->queries; ++i) call(*work, kQuery);
  }
}

long long spscope_fake_cupti_made() {
  const Lock lock(fake().mutex);
  return fake().num_made;
}

void spscope_fake_cupti_end_kernels() {
  const Lock lock(fake().mutex);
  end_kernels(true);
}

int spscope_fake_cupti_take_over() {
  const Lock lock(fake().mutex);
  fake().request = request_of_other;
  fake().complete = complete_for_other;
  fake().timestamp = ticks_of_other;
  return std::exchange(num_unknown_to_other, 0);
}

void spscope_fake_cupti_deliver_late() {
  const Lock lock(fake().mutex);
  for (const Buffer& buffer : std::exchange(fake().late, {})) {
    fake().current = buffer;
    complete_all();
  }
}

unsigned long long spscope_fake_cupti_enabled() {
  const Lock lock(fake().mutex);
  unsigned long long bits = 0;
  for (const std::uint32_t kind : fake().kinds) bits |= 1ull << kind;
  return bits;
}

int spscope_fake_cupti_enabled_calls() {
  const Lock lock(fake().mutex);
  return static_cast<int>(fake().calls.size());
}

int spscope_fake_cupti_subscribed() {
  const Lock lock(fake().mutex);
  return fake().subscribed ? 1 : 0;
}

const char* spscope_fake_cupti_fault() {
  const Lock lock(fake().mutex);
  return fake().fault.c_str();
}

}  // extern "C"

}  // namespace spscope::fake_cupti
