// The work of a program, as records.
#include <array>
#include <new>

#include "tests/fake_cupti/control.h"
#include "tests/fake_cupti/fake.h"

using spscope::fake_cupti::complete_current;
using spscope::fake_cupti::Copy;
using spscope::fake_cupti::Fake;
using spscope::fake_cupti::fake;
using spscope::fake_cupti::Kernel;
using spscope::fake_cupti::Memset;
using spscope::fake_cupti::Overhead;
using spscope::fake_cupti::PeerCopy;
using spscope::fake_cupti::pushed_ids;
using spscope::fake_cupti::read_settings;
using spscope::fake_cupti::record_bytes;
using spscope::fake_cupti::Synchronization;
using spscope::fake_cupti::write;

namespace {

using Lock = std::lock_guard<std::mutex>;

constexpr std::array kNames = {"attend_mma", "merge_rows", "copy_rows"};

bool enabled(CUpti_ActivityKind kind) { return fake().kinds.contains(kind); }

// The call on the host, and the id that was pushed around it; when none was, 1000 more than the correlation.
void call(std::uint32_t id) {
  Fake& f = fake();
  ++f.correlation;
  if (enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    CUpti_ActivityExternalCorrelation record = {};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = pushed_ids().empty() ? 1000 + f.correlation : pushed_ids().back();
    record.correlationId = f.correlation;
    write(record);
  }
  if (!enabled(CUPTI_ACTIVITY_KIND_RUNTIME) && !f.calls.contains({CUPTI_ACTIVITY_KIND_RUNTIME, id})) return;
  CUpti_ActivityAPI record = {};
  record.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = id;
  record.start = f.timestamp();
  record.end = record.start + 5;
  record.threadId = 77;
  record.correlationId = f.correlation;
  write(record);
}

void launch() {
  Fake& f = fake();
  call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  if (!enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  std::array<std::uint64_t, 64> room = {};  // as long as kernel_bytes may say
  Kernel& record = *new (room.data()) Kernel{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const bool untimed = f.settings.untimed > 0 && ++f.num_kernels % f.settings.untimed == 0;
  record.start = untimed ? 0 : f.timestamp();
  record.end = untimed ? 0 : record.start + 100;
  record.deviceId = 3;
  record.contextId = 1;
  record.streamId = 7;
  record.gridX = static_cast<std::int32_t>(f.correlation);
  if (f.settings.shapes > 0) record.gridX = record.gridX % f.settings.shapes + 1;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 96;
  record.staticSharedMemory = 512;
  record.dynamicSharedMemory = 65536;
  record.correlationId = f.correlation;
  record.gridId = 40 + f.correlation;
  record.name = kNames[f.correlation % kNames.size()];
  write(&record, record_bytes(record.kind));
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

void copy() {
  call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  if (enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) write(copy_record<Copy>(CUPTI_ACTIVITY_KIND_MEMCPY));
}

void copy_between_gpus() {
  call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000);
  if (!enabled(CUPTI_ACTIVITY_KIND_MEMCPY2)) return;
  PeerCopy record = copy_record<PeerCopy>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.dstDeviceId = 1;
  write(record);
}

void set_memory() {
  call(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
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

void synchronise() {
  call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
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
  if (!enabled(CUPTI_ACTIVITY_KIND_MARKER)) return;
  for (const CUpti_ActivityFlag end : {CUPTI_ACTIVITY_FLAG_MARKER_START, CUPTI_ACTIVITY_FLAG_MARKER_END}) {
    CUpti_ActivityMarker2 record = {};
    record.kind = CUPTI_ACTIVITY_KIND_MARKER;
    record.flags = end;
    record.timestamp = fake().timestamp();
    record.id = 5;
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.name = end == CUPTI_ACTIVITY_FLAG_MARKER_START ? "layer 3" : nullptr;
    record.domain = "model";
    write(record);
  }
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

}  // namespace

extern "C" {

void spscope_fake_cupti_reset(const char* settings) {
  const Lock lock(fake().mutex);
  Fake& f = fake();
  f.settings = read_settings(settings);
  f.subscribed = false;
  f.kinds.clear();
  f.calls.clear();
  f.buffer_for_each_thread = SPSCOPE_FAKE_CUPTI == 13;
  f.request = nullptr;
  f.complete = nullptr;
  f.timestamp = nullptr;
  f.current = {};
  f.late.clear();
  f.taken.clear();
  f.num_made = f.num_kernels = f.num_buffers = 0;
  f.num_dropped = 0;
  f.correlation = 0;
  f.system_threads = false;
  pushed_ids().clear();
  f.fault.clear();
}

void spscope_fake_cupti_run(const FakeWork* work, unsigned repeats) {
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    const Lock lock(fake().mutex);
    for (unsigned i = 0; i < work->markers; ++i) range();
    for (unsigned i = 0; i < work->launches; ++i) launch();
    for (unsigned i = 0; i < work->copies; ++i) copy();
    for (unsigned i = 0; i < work->peer_copies; ++i) copy_between_gpus();
    for (unsigned i = 0; i < work->memsets; ++i) set_memory();
    for (unsigned i = 0; i < work->synchronisations; ++i) synchronise();
    for (unsigned i = 0; i < work->overheads; ++i) overhead();
  }
}

long long spscope_fake_cupti_made() {
  const Lock lock(fake().mutex);
  return fake().num_made;
}

void spscope_fake_cupti_deliver_late() {
  const Lock lock(fake().mutex);
  for (const spscope::fake_cupti::Buffer& buffer : std::exchange(fake().late, {})) {
    fake().current = buffer;
    complete_current();
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
