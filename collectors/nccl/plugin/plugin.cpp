// The symbols by which NCCL finds its profiler plugin. In a file of their own, since only what NCCL is to load may have
// them: a library named by NCCL_PROFILER_PLUGIN, which must stay mapped (-Wl,-z,nodelete) because NCCL closes it with
// its last communicator, or a program that exports them (NCCL_PROFILER_PLUGIN=STATIC_PLUGIN).
//
// Each turns the descriptors of its version into calls of Watch. NCCL looks for v6 first, then for v5, v4 and v3.
#include "collectors/nccl/plugin/plugin.h"

#include <atomic>

#include "collectors/nccl/interface.h"
#include "collectors/nccl/watch.h"

namespace spscope::nccl {
namespace {

constexpr int kWantedV3 = kCollective | kPointToPoint | kProxyOp | kKernelChannel;  // and v4
constexpr int kWantedV5 = kWantedV3 | kGroupCall | kCollectiveCall | kPointToPointCall;
constexpr int kWantedV6 = kWantedV5 | kCopyCollective;

int add(void** context, int* mask, int wanted, const char* name, std::uint64_t hash, int num_ranks, int rank) noexcept {
  *context = nullptr;
  if (!collects_from_now_on()) {
    std::atomic_ref<int>(*mask).store(0, std::memory_order_relaxed);  // other communicators may share it
    return 0;
  }
  CommunicatorFacts facts = {.hash = hash, .num_ranks = num_ranks, .rank = rank};
  facts.name.assign(name);
  *context = watch().add_communicator(facts, mask, wanted);
  return 0;
}

int init_v3(void** context, int* mask) noexcept { return add(context, mask, kWantedV3, nullptr, 0, 0, -1); }
int init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int /*num_nodes*/, int num_ranks, int rank,
            Log /*log*/) noexcept {
  return add(context, mask, kWantedV3, name, hash, num_ranks, rank);
}
template <int kWanted>
int init_v5(void** context, std::uint64_t hash, int* mask, const char* name, int /*num_nodes*/, int num_ranks, int rank,
            Log /*log*/) noexcept {
  return add(context, mask, kWanted, name, hash, num_ranks, rank);
}

// Roots are of these only; others have 0 there.
bool has_root(const char* function) noexcept {
  const std::string_view name = function == nullptr ? "" : function;
  return name == "Broadcast" || name == "Reduce" || name == "Gather" || name == "Scatter";
}

void* start_collective(void* context, void* parent, const CollectiveBody& body, int num_channels) noexcept {
  return watch().start_operation(context, parent,
                                 {.function = body.function,
                                  .dtype = body.dtype,
                                  .algorithm = body.algorithm,
                                  .protocol = body.protocol,
                                  .count = body.count,
                                  .sequence = static_cast<std::int64_t>(body.sequence),
                                  .root = has_root(body.function) ? body.root : -1,
                                  .num_channels = num_channels});
}

void* start_point_to_point(void* context, void* parent, const PointToPointBody& body, int num_channels) noexcept {
  return watch().start_operation(context, parent,
                                 {.function = body.function,
                                  .dtype = body.dtype,
                                  .count = body.count,
                                  .peer = body.peer,
                                  .num_channels = num_channels,
                                  .point_to_point = true});
}

void* start_copies(void* context, void* parent, const CopyCollectiveBody& body) noexcept {
  return watch().start_operation(context, parent,
                                 {.function = body.function,
                                  .dtype = body.dtype,
                                  .algorithm = "CE",
                                  .protocol = body.strategy,
                                  .count = body.count,
                                  .sequence = static_cast<std::int64_t>(body.sequence),
                                  .root = has_root(body.function) ? body.root : -1,
                                  .enqueued_only = true});
}

// What v3 tells with each operation, since its communicators tell nothing.
void learn(void* context, const char* name, std::uint64_t hash, int rank) noexcept {
  CommunicatorFacts facts = {.hash = hash, .rank = rank};
  facts.name.assign(name);
  watch().communicators().learn(context, facts);
}

void* start_of(void* context, const DescriptorV3& what) noexcept {
  const BodyV3& body = what.body;
  switch (what.type) {
    case kCollective:
      learn(context, body.collective.communicator, body.collective.hash, what.rank);
      // The most channels that it may use say nothing of how many do.
      return start_collective(context, what.parent, body.collective.body, 0);
    case kPointToPoint:
      learn(context, body.point_to_point.communicator, body.point_to_point.hash, what.rank);
      return start_point_to_point(context, what.parent, body.point_to_point.body, 0);
    case kProxyOp:
      return watch().start_proxy(what.parent, body.proxy_op.pid);
    case kKernelChannel:
      return watch().start_channel(what.parent, body.kernel_channel.channel, 0);
    default:
      return nullptr;
  }
}

// What v4, v5 and v6 have in common.
template <typename Body>
void* start_common(void* context, std::uint64_t type, void* parent, const Body& body) noexcept {
  switch (type) {
    case kCollective:
      return start_collective(context, parent, body.collective, body.collective.num_channels);
    case kPointToPoint:
      return start_point_to_point(context, parent, body.point_to_point, body.point_to_point.num_channels);
    case kProxyOp:
      return watch().start_proxy(parent, body.proxy_op.pid);
    case kKernelChannel:
      return watch().start_channel(parent, body.kernel_channel.channel, body.kernel_channel.timer);
    default:
      return nullptr;
  }
}

void* start_of(void* context, const DescriptorV4& what) noexcept {
  return start_common(context, what.type, what.parent, what.body);
}

void* start_of(void* context, const DescriptorV5& what) noexcept {
  const BodyV5& body = what.body;
  switch (what.type) {
    case kGroupCall:
      return watch().start_group(body.group_call.depth > 1);
    case kCollectiveCall:
      return watch().start_call(body.collective_call.function, body.collective_call.captured);
    case kPointToPointCall:
      return watch().start_call(body.point_to_point_call.function, body.point_to_point_call.captured);
    case kCopyCollective:
      return start_copies(context, what.parent, body.copy_collective);
    default:
      return start_common(context, what.type, what.parent, body);
  }
}

template <typename Described>
int start(void* context, void** handle, Described* what) noexcept {
  *handle = nullptr;
  if (what == nullptr || !still_collects()) return 0;
  const Watch::Measure measure(watch());
  *handle = start_of(context, *what);
  return 0;
}

int stop(void* handle) noexcept {
  if (!still_collects()) return 0;
  const Watch::Measure measure(watch());
  watch().stop(handle);
  return 0;
}

// v3 has no state that tells a time.
int record_v3(void*, int, StateArguments*) noexcept { return 0; }
int record(void* handle, int state, StateArguments* arguments) noexcept {
  if (!still_collects()) return 0;
  const Watch::Measure measure(watch());
  watch().record(handle, state, arguments == nullptr ? nullptr : &arguments->timer);
  return 0;
}

int finalize(void* context) noexcept {
  if (still_collects()) watch().remove_communicator(context);
  return 0;
}

constexpr const char* kName = "spscope";

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const PluginV3 ncclProfiler_v3;
__attribute__((visibility("default"))) extern const PluginV4 ncclProfiler_v4;
__attribute__((visibility("default"))) extern const PluginV5 ncclProfiler_v5, ncclProfiler_v6;
const PluginV3 ncclProfiler_v3 = {kName, init_v3, start<DescriptorV3>, stop, record_v3, finalize};
const PluginV4 ncclProfiler_v4 = {kName, init_v4, start<DescriptorV4>, stop, record, finalize};
const PluginV5 ncclProfiler_v5 = {kName, init_v5<kWantedV5>, start<DescriptorV5>, stop, record, finalize};
const PluginV5 ncclProfiler_v6 = {kName, init_v5<kWantedV6>, start<DescriptorV5>, stop, record, finalize};
}  // extern "C"

}  // namespace spscope::nccl
