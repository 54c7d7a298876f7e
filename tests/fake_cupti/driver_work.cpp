// Records of what the fake CUDA driver of the process does (tests/fake_cuda/observer.h).
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/fake_cuda/observer.h"
#include "tests/fake_cupti/fake.h"

namespace spscope::fake_cupti {
namespace {

// A buffer is kept back while something is at work whose call is in it.
std::uint32_t called(std::uint32_t callback) {
  const Lock lock(fake().mutex);
  Fake& f = fake();
  write_call(CUPTI_ACTIVITY_KIND_DRIVER, callback, static_cast<std::uint32_t>(syscall(SYS_gettid)));
  if (callback != CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize && f.current.bytes != nullptr)
    f.unended[f.correlation] = f.current.number;
  return f.correlation;
}

std::uint64_t now_ns() { return fake().timestamp != nullptr ? fake().timestamp() : 0; }

template <typename Record>
Record begun(CUpti_ActivityKind kind, const FakeDriverWork& work) {
  Record record = {};
  record.kind = kind;
  record.start = work.begin_ns;
  record.end = work.end_ns;
  record.contextId = work.device + 1;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  return record;
}

void write_kernel(const FakeDriverWork& work) {
  auto record = begun<Kernel>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, work);
  const int untimed = fake().settings.untimed;
  if (untimed > 0 && ++fake().num_kernels % untimed == 0) record.start = record.end = 0;
  record.deviceId = work.device;
  record.gridX = static_cast<std::int32_t>(work.grid);
  record.blockX = static_cast<std::int32_t>(work.block);
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.dynamicSharedMemory = static_cast<std::int32_t>(work.shared_bytes);
  record.name = work.name;
  write(record);
}

template <typename Record>
void write_copy(CUpti_ActivityKind kind, CUpti_ActivityMemcpyKind copy_kind, const FakeDriverWork& work) {
  auto record = begun<Record>(kind, work);
  record.deviceId = work.device;
  record.copyKind = static_cast<std::uint8_t>(copy_kind);
  record.srcKind = work.from_host ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.dstKind = work.to_host ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.bytes = work.bytes;
  if constexpr (std::is_same_v<Record, PeerCopy>) {
    record.srcDeviceId = work.source_device;
    record.dstDeviceId = work.target_device;
  }
  write(record);
}

void write_copy(const FakeDriverWork& work) {
  const bool on_devices = !work.from_host && !work.to_host;
  if (on_devices && work.source_device != work.target_device) {
    if (enabled(CUPTI_ACTIVITY_KIND_MEMCPY2))
      write_copy<PeerCopy>(CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, work);
  } else if (enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) {
    write_copy<Copy>(CUPTI_ACTIVITY_KIND_MEMCPY,
                     on_devices       ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                     : work.from_host ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                      : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                     work);
  }
}

// As "correlation begin_ns recorded", where SPSCOPE_FAKE_CUPTI_KERNELS names a file.
void log_kernel(const FakeDriverWork& work) {
  static const char* const path = std::getenv("SPSCOPE_FAKE_CUPTI_KERNELS");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << work.correlation << ' ' << work.begin_ns << ' '
                                     << enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) << '\n';
}

void worked(const FakeDriverWork* work) {
  const Lock lock(fake().mutex);
  fake().unended.erase(work->correlation);
  if (!fake().subscribed) return;
  ++fake().driver_work[work->kind];
  if (work->kind == FakeDriverWork::kKernel) log_kernel(*work);
  switch (work->kind) {
    case FakeDriverWork::kKernel:
      if (enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) write_kernel(*work);
      break;
    case FakeDriverWork::kCopy:
      write_copy(*work);
      break;
    case FakeDriverWork::kMemset:
      if (enabled(CUPTI_ACTIVITY_KIND_MEMSET)) {
        auto record = begun<Memset>(CUPTI_ACTIVITY_KIND_MEMSET, *work);
        record.deviceId = work->device;
        record.bytes = work->bytes;
        write(record);
      }
      break;
    case FakeDriverWork::kSynchronize:
      if (enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
        auto record = begun<Synchronization>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, *work);
        record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
        write(record);
      }
      break;
  }
}

// Whoever is called back may call CUPTI.
void passed(std::uint32_t callback, bool after) {
  CUpti_CallbackFunc tell = nullptr;
  {
    const Lock lock(fake().mutex);
    if (fake().subscribed && fake().called_back.contains(callback)) tell = fake().callback;
  }
  CUpti_CallbackData data = {};
  data.callbackSite = after ? CUPTI_API_EXIT : CUPTI_API_ENTER;
  std::unique_lock calls(fake().of_calls, std::defer_lock);
  if (fake().settings.slow_ms > 0) calls.lock();
  if (tell != nullptr) tell(fake().user, CUPTI_CB_DOMAIN_DRIVER_API, callback, &data);
}

constexpr FakeDriverObserver kObserver = {called, now_ns, worked, passed};

template <typename Function>
Function* of_driver(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

}  // namespace

void observe_driver(bool observe) {
  auto* const tell = of_driver<decltype(spscope_fake_cuda_observe)>("spscope_fake_cuda_observe");
  if (tell != nullptr) tell(observe ? &kObserver : nullptr);
}

bool has_context() {
  auto* const ask = of_driver<decltype(spscope_fake_cuda_has_context)>("spscope_fake_cuda_has_context");
  return ask != nullptr && ask();
}

void report_driver_work() {
  const char* const path = std::getenv("SPSCOPE_FAKE_CUPTI_REPORT");
  if (path == nullptr) return;
  const Fake& f = fake();
  std::ofstream(path, std::ios::app) << "{\"kernels\": " << f.driver_work[FakeDriverWork::kKernel]
                                     << ", \"copies\": " << f.driver_work[FakeDriverWork::kCopy]
                                     << ", \"memsets\": " << f.driver_work[FakeDriverWork::kMemset]
                                     << ", \"waits\": " << f.driver_work[FakeDriverWork::kSynchronize]
                                     << ", \"records\": " << f.num_made << ", \"fault\": \"" << f.fault << "\"}\n";
}

}  // namespace spscope::fake_cupti
