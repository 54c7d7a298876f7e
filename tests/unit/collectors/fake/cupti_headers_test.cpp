// Our declarations of what CUPTI writes and takes, compared with NVIDIA's headers. Nearly all of it is compared by the
// compiler; where the toolkit has its library, that one is asked, too.
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <type_traits>

#include "collectors/cupti/library.h"

namespace spscope::cupti {
namespace {

// A member of ours is at the place and of the size of CUPTI's in every version.
#define SAME(ours, theirs) \
  (offsetof(Ours, ours) == offsetof(Theirs, theirs) && sizeof(Ours::ours) == sizeof(Theirs::theirs))

template <typename Ours, typename Theirs>
constexpr bool same_place() {
  return SAME(kind, kind) && SAME(device, deviceId) && SAME(context, contextId) && SAME(stream, streamId) &&
         SAME(correlation, correlationId) && SAME(start, start) && SAME(end, end);
}

template <typename Ours, typename Theirs>
constexpr bool same_copy() {
  return SAME(copy_kind, copyKind) && SAME(source_kind, srcKind) && SAME(target_kind, dstKind) && SAME(flags, flags) &&
         SAME(bytes, bytes) && same_place<Ours, Theirs>();
}

template <typename Theirs>
constexpr bool same(std::type_identity<KernelLayout>) {
  using Ours = KernelLayout;
  return SAME(registers_per_thread, registersPerThread) && SAME(grid[0], gridX) && SAME(grid[1], gridY) &&
         SAME(grid[2], gridZ) && SAME(block[0], blockX) && SAME(block[1], blockY) && SAME(block[2], blockZ) &&
         SAME(static_shared_bytes, staticSharedMemory) && SAME(dynamic_shared_bytes, dynamicSharedMemory) &&
         SAME(grid_id, gridId) && SAME(name, name) && same_place<Ours, Theirs>();
}

template <typename Theirs>
constexpr bool same(std::type_identity<CopyLayout>) {
  return same_copy<CopyLayout, Theirs>();
}

template <typename Theirs>
constexpr bool same(std::type_identity<PeerCopyLayout>) {
  using Ours = PeerCopyLayout;
  return SAME(source_device, srcDeviceId) && SAME(source_context, srcContextId) && SAME(target_device, dstDeviceId) &&
         SAME(target_context, dstContextId) && same_copy<Ours, Theirs>();
}

template <typename Theirs>
constexpr bool same(std::type_identity<MemsetLayout>) {
  using Ours = MemsetLayout;
  return SAME(value, value) && SAME(bytes, bytes) && same_place<Ours, Theirs>();
}

template <typename Theirs>
constexpr bool same(std::type_identity<SynchronizationLayout>) {
  using Ours = SynchronizationLayout;
  return SAME(kind, kind) && SAME(type, type) && SAME(start, start) && SAME(end, end) &&
         SAME(correlation, correlationId) && SAME(context, contextId) && SAME(stream, streamId) &&
         SAME(event, cudaEventId);
}

template <typename Theirs>
constexpr bool same(std::type_identity<OverheadLayout>) {
  using Ours = OverheadLayout;
  return SAME(kind, kind) && SAME(overhead_kind, overheadKind) && SAME(object_kind, objectKind) &&
         SAME(object, objectId) && SAME(start, start) && SAME(end, end);
}

template <typename Theirs>
constexpr bool same(std::type_identity<ApiLayout>) {
  using Ours = ApiLayout;
  return SAME(kind, kind) && SAME(callback, cbid) && SAME(start, start) && SAME(end, end) && SAME(process, processId) &&
         SAME(thread, threadId) && SAME(correlation, correlationId) && SAME(result, returnValue);
}

template <typename Theirs>
constexpr bool same(std::type_identity<ExternalCorrelationLayout>) {
  using Ours = ExternalCorrelationLayout;
  return SAME(kind, kind) && SAME(external_kind, externalKind) && SAME(external_id, externalId) &&
         SAME(correlation, correlationId);
}

template <typename Theirs>
constexpr bool same(std::type_identity<MarkerLayout>) {
  using Ours = MarkerLayout;
  return SAME(kind, kind) && SAME(flags, flags) && SAME(time, timestamp) && SAME(id, id) &&
         SAME(object_kind, objectKind) && SAME(object, objectId) && SAME(name, name) && SAME(domain, domain);
}
#undef SAME

#if CUPTI_API_VERSION < 130400
#define NEWER_RECORD_VERSION(layout, version, bytes)
#endif
#define RECORD_VERSION(layout, version, bytes)             \
  static_assert(sizeof(CUpti_Activity##version) == bytes); \
  static_assert(same<CUpti_Activity##version>(std::type_identity<layout>{}), #layout " as " #version);
#include "collectors/cupti/record_versions.def"
#undef RECORD_VERSION

constexpr bool is(Kind kind, CUpti_ActivityKind theirs) { return static_cast<int>(kind) == static_cast<int>(theirs); }
static_assert(is(Kind::kCopy, CUPTI_ACTIVITY_KIND_MEMCPY) && is(Kind::kPeerCopy, CUPTI_ACTIVITY_KIND_MEMCPY2));
static_assert(is(Kind::kMemset, CUPTI_ACTIVITY_KIND_MEMSET) && is(Kind::kSerialKernel, CUPTI_ACTIVITY_KIND_KERNEL));
static_assert(is(Kind::kKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) &&
              is(Kind::kMarker, CUPTI_ACTIVITY_KIND_MARKER));
static_assert(is(Kind::kDriverApi, CUPTI_ACTIVITY_KIND_DRIVER) && is(Kind::kRuntimeApi, CUPTI_ACTIVITY_KIND_RUNTIME));
static_assert(is(Kind::kOverhead, CUPTI_ACTIVITY_KIND_OVERHEAD));
static_assert(is(Kind::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
static_assert(is(Kind::kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));

static_assert(kSuccess == CUPTI_SUCCESS);
static_assert(kNotInitialized == CUPTI_ERROR_NOT_INITIALIZED && kHardwareBusy == CUPTI_ERROR_HARDWARE_BUSY);
static_assert(kVirtualized == CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED && kUnknown == CUPTI_ERROR_UNKNOWN);
static_assert(kInsufficientPrivileges == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
static_assert(kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kVirtualizedPrivileges == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
static_assert(kConfidentialComputing == CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
static_assert(kMig == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED && kWsl == CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);

static_assert(sizeof(SubscriberParameters) == sizeof(CUpti_SubscriberParams));
static_assert(offsetof(SubscriberParameters, name) == offsetof(CUpti_SubscriberParams, subscriberName));
static_assert(offsetof(SubscriberParameters, other_name) == offsetof(CUpti_SubscriberParams, oldSubscriberName));
static_assert(offsetof(SubscriberParameters, other_name_bytes) == offsetof(CUpti_SubscriberParams, oldSubscriberSize));

// Chosen calls carry the number of their name.
constexpr auto kDriverApi = CUPTI_ACTIVITY_KIND_DRIVER, kRuntimeApi = CUPTI_ACTIVITY_KIND_RUNTIME;
static_assert(kDriverApi != kRuntimeApi);
#define CBID_kRuntimeApi(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define CBID_kDriverApi(name) CUPTI_DRIVER_TRACE_CBID_##name
#if CUPTI_API_VERSION < 130000
#define API_CALL_OF_13(domain, name, id)
#endif
#define API_CALL(domain, name, id) static_assert(CBID_##domain(name) == id);
#include "collectors/cupti/api_calls.def"
#undef API_CALL

// As many arguments, each a pointer or a number of the same size: what the calling convention sees.
template <typename A, typename B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <typename A, typename B>
struct CalledAlike : std::false_type {};
template <typename... A, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct CalledAlike<int (*)(A...), CUptiResult (*)(B...)>
    : std::bool_constant<(passed_alike<A, B> && ...)> {
};
#define CUPTI_CALL(name, arguments) static_assert(CalledAlike<int(*) arguments, decltype(&::name)>::value, #name);
#define CUPTI_CALL_SINCE CUPTI_CALL
#include "collectors/cupti/calls.def"

TEST(CuptiHeaders, TheLibraryOfTheToolkitWritesWhatItsHeadersSay) {
  std::string path;
  for (const char* name : {"/../lib64/libcupti.so", "/../lib/libcupti.so"})
    if (std::filesystem::exists(std::string(SPSCOPE_CUDA_INCLUDE) + name))
      path = std::string(SPSCOPE_CUDA_INCLUDE) + name;
  if (path.empty()) GTEST_SKIP() << "the toolkit has no libcupti";
  const std::optional<Library> opened = LibrarySearch({path}).next();
  ASSERT_TRUE(opened);
  const Library& library = *opened;
  if (library.version != CUPTI_API_VERSION || CUPTI_API_VERSION >= 130400)
    GTEST_SKIP() << "CUPTI of another version than the headers, or one that needs a driver";
  const RecordSizes sizes = ask_record_sizes(library);
  EXPECT_EQ(sizes.of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), sizeof(CUpti_ActivityKernel10));
  EXPECT_EQ(sizes.of(CUPTI_ACTIVITY_KIND_MEMCPY), sizeof(CUpti_ActivityMemcpy6));
  EXPECT_EQ(sizes.of(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), sizeof(CUpti_ActivityGraphTrace2)) << "one that is not read";
  EXPECT_EQ(sizes.of(CUPTI_ACTIVITY_KIND_INVALID), 0u);
  for (const Kind kind :
       {Kind::kCopy, Kind::kMemset, Kind::kSerialKernel, Kind::kDriverApi, Kind::kRuntimeApi, Kind::kKernel,
        Kind::kMarker, Kind::kOverhead, Kind::kPeerCopy, Kind::kSynchronization, Kind::kExternalCorrelation})
    EXPECT_TRUE(sizes.readable(kind)) << static_cast<int>(kind);
}

}  // namespace
}  // namespace spscope::cupti
