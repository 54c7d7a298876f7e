#include "tests/fake_nccl/fake_nccl.h"

#include <dlfcn.h>

#include <atomic>
#include <utility>

#include "backend/base/check.h"
#include "collectors/nccl/interface.h"

namespace spscope::fake_nccl {

using nccl::BodyV3;
using nccl::CollectiveBody;
using nccl::DescriptorV3;
using nccl::DescriptorV4;
using nccl::DescriptorV5;
using nccl::PluginV3;
using nccl::PluginV4;
using nccl::PluginV5;
using nccl::PointToPointBody;

namespace {

template <typename Plugin>
const Plugin& as(const void* plugin) {
  return *static_cast<const Plugin*>(plugin);
}

void log() {}

}  // namespace

FakeNccl::FakeNccl(int newest, std::string plugin) : newest_(newest), plugin_name_(std::move(plugin)) { load(); }

FakeNccl::~FakeNccl() { unload(); }

void FakeNccl::load() {
  library_ = dlopen(plugin_name_ == "STATIC_PLUGIN" ? nullptr : plugin_name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  plugin_ = nullptr;
  interface_ = 0;
  if (library_ == nullptr) return;
  for (int version = newest_; version >= 3 && plugin_ == nullptr; --version) {
    plugin_ = dlsym(library_, ("ncclProfiler_v" + std::to_string(version)).c_str());
    interface_ = plugin_ == nullptr ? 0 : version;
  }
}

void FakeNccl::unload() {
  if (library_ != nullptr) dlclose(std::exchange(library_, nullptr));
}

int FakeNccl::mask() const { return std::atomic_ref<int>(const_cast<int&>(mask_)).load(std::memory_order_relaxed); }

void* FakeNccl::init(std::uint64_t hash, const char* name, int num_ranks, int rank) {
  if (library_ == nullptr) load();
  void* context = nullptr;
  int result = 0;
  if (interface_ == 0) return nullptr;
  ++num_communicators_;
  if (interface_ == 3) {
    v3_ = {name, hash, rank};
    result = as<PluginV3>(plugin_).init(&context, &mask_);
  } else if (interface_ == 4) {
    result = as<PluginV4>(plugin_).init(&context, &mask_, name, hash, 1, num_ranks, rank, log);
  } else {
    result = as<PluginV5>(plugin_).init(&context, hash, &mask_, name, 1, num_ranks, rank, log);
  }
  SPSCOPE_CHECK(result == 0);
  return context;
}

void FakeNccl::finalize(void* context) {
  if (interface_ == 0) return;
  const auto finalize = interface_ == 3   ? as<PluginV3>(plugin_).finalize
                        : interface_ == 4 ? as<PluginV4>(plugin_).finalize
                                          : as<PluginV5>(plugin_).finalize;
  SPSCOPE_CHECK(finalize(context) == 0);
  if (num_communicators_ > 0 && --num_communicators_ == 0) unload();
}

template <typename Descriptor>
void* FakeNccl::call_start(void* context, Descriptor descriptor) {
  void* handle = nullptr;
  int result = 0;
  if constexpr (std::is_same_v<Descriptor, DescriptorV3>)
    result = as<PluginV3>(plugin_).start(context, &handle, &descriptor);
  else if constexpr (std::is_same_v<Descriptor, DescriptorV4>)
    result = as<PluginV4>(plugin_).start(context, &handle, &descriptor);
  else
    result = as<PluginV5>(plugin_).start(context, &handle, &descriptor);
  SPSCOPE_CHECK(result == 0);
  return handle;
}

namespace {

CollectiveBody collective(const Work& work) {
  return {.sequence = work.sequence,
          .function = work.function,
          .send = nullptr,
          .receive = nullptr,
          .count = work.count,
          .root = work.root,
          .dtype = work.dtype,
          .num_channels = static_cast<std::uint8_t>(work.channels),
          .num_warps = 16,
          .algorithm = work.algorithm,
          .protocol = work.protocol};
}

PointToPointBody point_to_point(const Work& work) {
  return {.function = work.function,
          .buffer = nullptr,
          .dtype = work.dtype,
          .count = work.count,
          .peer = work.peer,
          .num_channels = static_cast<std::uint8_t>(work.channels)};
}

}  // namespace

template <typename Body>
void FakeNccl::fill(Body& body, const Work& work) {
  if (work.peer >= 0)
    body.point_to_point = point_to_point(work);
  else
    body.collective = collective(work);
}

template <>
void FakeNccl::fill(BodyV3& body, const Work& work) {
  if (work.peer >= 0)
    body.point_to_point = {v3_.name, v3_.hash, point_to_point(work)};
  else
    body.collective = {v3_.name, v3_.hash, collective(work)};
  // The most channels that NCCL might use.
  if (work.peer < 0) body.collective.body.num_channels = 32;
}

void* FakeNccl::start(void* context, void* call, const Work& work) {
  const std::uint64_t type = work.peer >= 0 ? nccl::kPointToPoint : nccl::kCollective;
  if (!wants(type | nccl::kProxyOp | nccl::kKernelChannel)) return nullptr;
  const auto started = [&](auto descriptor) {
    descriptor.type = static_cast<decltype(descriptor.type)>(type);
    descriptor.parent = call;
    descriptor.rank = v3_.rank;
    fill(descriptor.body, work);
    return call_start(context, descriptor);
  };
  if (interface_ == 3) return started(DescriptorV3{});
  return interface_ == 4 ? started(DescriptorV4{}) : started(DescriptorV5{});
}

void* FakeNccl::start_copies(void* context, const Work& work) {
  if (interface_ < 6 || !wants(nccl::kCopyCollective)) return nullptr;
  DescriptorV5 descriptor{};
  descriptor.type = nccl::kCopyCollective;
  descriptor.body.copy_collective = {};
  descriptor.body.copy_collective.sequence = work.sequence;
  descriptor.body.copy_collective.function = work.function;
  descriptor.body.copy_collective.count = work.count;
  descriptor.body.copy_collective.dtype = work.dtype;
  descriptor.body.copy_collective.strategy = "MC";
  return call_start(context, descriptor);
}

void* FakeNccl::start_call(void* context, const char* function, bool captured) {
  const std::string name = function;
  const bool is_point_to_point = name == "Send" || name == "Recv";
  if (interface_ < 5 || !wants(is_point_to_point ? nccl::kPointToPointCall : nccl::kCollectiveCall)) return nullptr;
  DescriptorV5 descriptor{};
  descriptor.type = is_point_to_point ? nccl::kPointToPointCall : nccl::kCollectiveCall;
  if (is_point_to_point)
    descriptor.body.point_to_point_call = {function, 1, "ncclInt8", nullptr, captured};
  else
    descriptor.body.collective_call = {function, 1, "ncclInt8", 0, nullptr, captured};
  return call_start(context, descriptor);
}

void* FakeNccl::start_group(void* context, int depth) {
  if (interface_ < 5 || !wants(nccl::kGroupCall)) return nullptr;
  DescriptorV5 descriptor{};
  descriptor.type = nccl::kGroupCall;
  descriptor.body.group_call = {false, depth};
  return call_start(context, descriptor);
}

void FakeNccl::group_end_starts(void* group) {
  if (group != nullptr) as<PluginV5>(plugin_).record(group, nccl::kGroupEndStart, nullptr);
}

void* FakeNccl::start_channel(void* context, void* operation, int channel, std::uint64_t timer) {
  if (!wants(nccl::kKernelChannel)) return nullptr;
  const auto started = [&](auto descriptor) {
    descriptor.type = nccl::kKernelChannel;
    descriptor.parent = operation;
    descriptor.body.kernel_channel = {static_cast<std::uint8_t>(channel), timer};
    return call_start(context, descriptor);
  };
  // What v3 has no member for holds what was there before.
  if (interface_ == 3) return started(DescriptorV3{});
  return interface_ == 4 ? started(DescriptorV4{}) : started(DescriptorV5{});
}

void FakeNccl::stop_channel(void* handle, std::uint64_t timer) {
  if (handle == nullptr) return;
  nccl::StateArguments arguments = {timer};
  if (interface_ == 4) as<PluginV4>(plugin_).record(handle, nccl::kKernelChannelStop, &arguments);
  if (interface_ >= 5) as<PluginV5>(plugin_).record(handle, nccl::kKernelChannelStop, &arguments);
  stop(handle);
}

void* FakeNccl::start_proxy(void* context, void* operation, int pid) {
  if (!wants(nccl::kProxyOp)) return nullptr;
  const auto started = [&](auto descriptor) {
    descriptor.type = nccl::kProxyOp;
    descriptor.parent = operation;
    descriptor.body.proxy_op = {.pid = pid, .channel = 0, .peer = 1, .num_steps = 4, .chunk_bytes = 1, .is_send = 1};
    return call_start(context, descriptor);
  };
  if (interface_ == 3) return started(DescriptorV3{});
  return interface_ == 4 ? started(DescriptorV4{}) : started(DescriptorV5{});
}

void FakeNccl::stop(void* handle) {
  if (handle == nullptr) return;
  const auto stop = interface_ == 3   ? as<PluginV3>(plugin_).stop
                    : interface_ == 4 ? as<PluginV4>(plugin_).stop
                                      : as<PluginV5>(plugin_).stop;
  SPSCOPE_CHECK(stop(handle) == 0);
}

}  // namespace spscope::fake_nccl
