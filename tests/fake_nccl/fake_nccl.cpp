#include "tests/fake_nccl/fake_nccl.h"

#include <dlfcn.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "backend/base/check.h"
#include "collectors/nccl/interface.h"

namespace spscope::fake_nccl {

using nccl::PluginV3;
using nccl::PluginV4;
using nccl::PluginV5;

namespace {

void log() {}

template <typename Init, typename Descriptor>
Descriptor descriptor_of(const nccl::Plugin<Init, Descriptor>&) {
  return {};
}

nccl::CollectiveBody collective(const Work& work) {
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

nccl::PointToPointBody point_to_point(const Work& work) {
  return {.function = work.function,
          .buffer = nullptr,
          .dtype = work.dtype,
          .count = work.count,
          .peer = work.peer,
          .num_channels = static_cast<std::uint8_t>(work.channels)};
}

}  // namespace

// `act` with the plugin in its own interface.
template <typename Act>
auto FakeNccl::with_plugin(const Act& act) const {
  if (interface_ == 3) return act(*static_cast<const PluginV3*>(plugin_));
  return interface_ == 4 ? act(*static_cast<const PluginV4*>(plugin_)) : act(*static_cast<const PluginV5*>(plugin_));
}

// An event that `fill(body)` describes; one of v5 and later has a body of v5.
template <typename Fill>
void* FakeNccl::start_event(void* context, std::uint64_t type, void* parent, const Fill& fill) {
  void* handle = nullptr;
  const int result = with_plugin([&](const auto& plugin) {
    auto descriptor = descriptor_of(plugin);
    descriptor.type = static_cast<decltype(descriptor.type)>(type);
    descriptor.parent = parent;
    descriptor.rank = v3_.rank;
    if constexpr (std::is_invocable_v<Fill, decltype(descriptor.body)&>) fill(descriptor.body);
    return plugin.start(context, &handle, &descriptor);
  });
  SPSCOPE_CHECK(result == 0);
  return handle;
}

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
    result = static_cast<const PluginV3*>(plugin_)->init(&context, &mask_);
  } else if (interface_ == 4) {
    result = static_cast<const PluginV4*>(plugin_)->init(&context, &mask_, name, hash, 1, num_ranks, rank, log);
  } else {
    result = static_cast<const PluginV5*>(plugin_)->init(&context, hash, &mask_, name, 1, num_ranks, rank, log);
  }
  SPSCOPE_CHECK(result == 0);
  return context;
}

void FakeNccl::finalize(void* context) {
  if (interface_ == 0) return;
  SPSCOPE_CHECK(with_plugin([&](const auto& plugin) { return plugin.finalize(context); }) == 0);
  if (num_communicators_ > 0 && --num_communicators_ == 0) unload();
}

void* FakeNccl::start(void* context, void* call, const Work& work) {
  const std::uint64_t type = work.peer >= 0 ? nccl::kPointToPoint : nccl::kCollective;
  if (!wants(type | nccl::kProxyOp | nccl::kKernelChannel)) return nullptr;
  return start_event(context, type, call, [&](auto& body) {
    if constexpr (std::is_same_v<decltype(body), nccl::BodyV3&>) {
      if (work.peer >= 0)
        body.point_to_point = {v3_.name, v3_.hash, point_to_point(work)};
      else
        body.collective = {v3_.name, v3_.hash, collective(work)};
      // The most channels that NCCL might use.
      if (work.peer < 0) body.collective.body.num_channels = 32;
    } else if (work.peer >= 0) {
      body.point_to_point = point_to_point(work);
    } else {
      body.collective = collective(work);
    }
  });
}

void* FakeNccl::start_copies(void* context, const Work& work) {
  if (interface_ < 6 || !wants(nccl::kCopyCollective)) return nullptr;
  return start_event(context, nccl::kCopyCollective, nullptr, [&](nccl::BodyV5& body) {
    body.copy_collective = {};
    body.copy_collective.sequence = work.sequence;
    body.copy_collective.function = work.function;
    body.copy_collective.count = work.count;
    body.copy_collective.dtype = work.dtype;
    body.copy_collective.strategy = "MC";
  });
}

void* FakeNccl::start_call(void* context, const char* function, bool captured) {
  const std::string name = function;
  const bool is_point_to_point = name == "Send" || name == "Recv";
  const std::uint64_t type = is_point_to_point ? nccl::kPointToPointCall : nccl::kCollectiveCall;
  if (interface_ < 5 || !wants(type)) return nullptr;
  return start_event(context, type, nullptr, [&](nccl::BodyV5& body) {
    if (is_point_to_point)
      body.point_to_point_call = {function, 1, "ncclInt8", nullptr, captured};
    else
      body.collective_call = {function, 1, "ncclInt8", 0, nullptr, captured};
  });
}

void* FakeNccl::start_group(void* context, int depth) {
  if (interface_ < 5 || !wants(nccl::kGroupCall)) return nullptr;
  return start_event(context, nccl::kGroupCall, nullptr, [&](nccl::BodyV5& body) { body.group_call = {false, depth}; });
}

void FakeNccl::group_end_starts(void* group) {
  if (group != nullptr) static_cast<const PluginV5*>(plugin_)->record(group, nccl::kGroupEndStart, nullptr);
}

void* FakeNccl::start_channel(void* context, void* operation, int channel, std::uint64_t timer) {
  if (!wants(nccl::kKernelChannel)) return nullptr;
  // What v3 has no member for holds what was there before.
  return start_event(context, nccl::kKernelChannel, operation, [&](auto& body) {
    body.kernel_channel = {static_cast<std::uint8_t>(channel), timer};
  });
}

void FakeNccl::stop_channel(void* handle, std::uint64_t timer) {
  if (handle == nullptr) return;
  nccl::StateArguments arguments = {timer};
  if (interface_ >= 4)
    with_plugin([&](const auto& plugin) { return plugin.record(handle, nccl::kKernelChannelStop, &arguments); });
  stop(handle);
}

void* FakeNccl::start_proxy(void* context, void* operation, int pid) {
  if (!wants(nccl::kProxyOp)) return nullptr;
  return start_event(context, nccl::kProxyOp, operation, [&](auto& body) {
    body.proxy_op = {.pid = pid, .channel = 0, .peer = 1, .num_steps = 4, .chunk_bytes = 1, .is_send = 1};
  });
}

void FakeNccl::stop(void* handle) {
  if (handle == nullptr) return;
  SPSCOPE_CHECK(with_plugin([&](const auto& plugin) { return plugin.stop(handle); }) == 0);
}

}  // namespace spscope::fake_nccl
