// How the records begin that CUPTI writes into activity buffers. Our own declarations, so that building needs no header
// of CUPTI: what is read lies at the same offsets in every version of a record that record_versions.def lists. Times
// are nanoseconds of the clock that CUPTI was given; pointers are to text that CUPTI owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spscope::cupti {

// What every record begins with, as a std::uint32_t. Numbers of CUPTI. Those that are not here are stepped over.
enum class Kind : std::uint32_t {
  kCopy = 1,
  kMemset = 2,
  kSerialKernel = 3,  // never enabled: CUPTI then runs one kernel at a time
  kDriverApi = 4,
  kRuntimeApi = 5,
  kKernel = 10,
  kMarker = 12,
  kOverhead = 17,
  kPeerCopy = 22,
  kSynchronization = 38,
  kExternalCorrelation = 39,
};

struct KernelLayout {
  std::uint32_t kind = 0;
  std::uint8_t cache_config = 0, shared_memory_config = 0;
  std::uint16_t registers_per_thread = 0;
  std::uint32_t cache_requested = 0, cache_executed = 0;
  std::uint64_t start = 0, end = 0, completed = 0;
  std::uint32_t device = 0, context = 0, stream = 0;
  std::int32_t grid[3] = {}, block[3] = {};
  std::int32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0, local_bytes = 0;
  std::uint32_t correlation = 0;
  std::int64_t grid_id = 0;
  std::uint64_t name = 0;  // const char*
};
static_assert(sizeof(KernelLayout) == 112);

struct CopyLayout {
  std::uint32_t kind = 0;
  std::uint8_t copy_kind = 0, source_kind = 0, target_kind = 0, flags = 0;
  std::uint64_t bytes = 0, start = 0, end = 0;
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
};
static_assert(sizeof(CopyLayout) == 48);

struct PeerCopyLayout {
  std::uint32_t kind = 0;
  std::uint8_t copy_kind = 0, source_kind = 0, target_kind = 0, flags = 0;
  std::uint64_t bytes = 0, start = 0, end = 0;
  std::uint32_t device = 0, context = 0, stream = 0;
  std::uint32_t source_device = 0, source_context = 0, target_device = 0, target_context = 0;
  std::uint32_t correlation = 0;
};
static_assert(sizeof(PeerCopyLayout) == 64);

struct MemsetLayout {
  std::uint32_t kind = 0, value = 0;
  std::uint64_t bytes = 0, start = 0, end = 0;
  std::uint32_t device = 0, context = 0, stream = 0, correlation = 0;
};
static_assert(sizeof(MemsetLayout) == 48);

struct SynchronizationLayout {
  std::uint32_t kind = 0, type = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t correlation = 0, context = 0, stream = 0, event = 0;
};
static_assert(sizeof(SynchronizationLayout) == 40);

// `object` is process and thread, or device, context and stream, as `object_kind` says.
struct OverheadLayout {
  std::uint32_t kind = 0, overhead_kind = 0, object_kind = 0;
  std::uint32_t object[3] = {};
  std::uint64_t start = 0, end = 0;
};
static_assert(sizeof(OverheadLayout) == 40);

struct ApiLayout {
  std::uint32_t kind = 0, callback = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t process = 0, thread = 0, correlation = 0, result = 0;
};
static_assert(sizeof(ApiLayout) == 40);

struct ExternalCorrelationLayout {
  std::uint32_t kind = 0, external_kind = 0;
  std::uint64_t external_id = 0;
  std::uint32_t correlation = 0, reserved = 0;
};
static_assert(sizeof(ExternalCorrelationLayout) == 24);

struct MarkerLayout {
  std::uint32_t kind = 0, flags = 0;
  std::uint64_t time = 0;
  std::uint32_t id = 0, object_kind = 0;
  std::uint32_t object[3] = {}, padding = 0;
  std::uint64_t name = 0, domain = 0;  // const char*
};
static_assert(sizeof(MarkerLayout) == 56);

// How that begins which a callback of a call of the driver gets.
struct CallbackLayout {
  std::uint32_t site = 0;  // 0: before the call, 1: after it
};

}  // namespace spscope::cupti
