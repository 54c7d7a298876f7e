// NCCL's profiler plugin as NCCL calls it: interfaces v3 (NCCL 2.26), v4 (2.27), v5 (2.28) and v6 (2.29 and later). Our
// own declarations, so that building needs no header of NCCL; what is not read has no name. Strings belong to NCCL.
// Every function returns 0, ncclSuccess: an error of a profiler is none of NCCL's business.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spscope::nccl {

// Kinds of events, bits of the mask of those that a plugin wants. Numbers of NCCL.
enum EventBit : std::uint64_t {
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOp = 1 << 3,  // what the proxy thread does for an operation on one channel and one side of the network
  kKernelChannel = 1 << 6,
  kGroupCall = 1 << 8,  // calls: from v5
  kCollectiveCall = 1 << 9,
  kPointToPointCall = 1 << 10,
  kCopyCollective = 1 << 12,  // by copy engines: v6
};
// States of recordEventState().
enum State : int { kKernelChannelStop = 22, kGroupEndStart = 24 };

struct CollectiveBody {
  std::uint64_t sequence;  // counts the calls of this function in the communicator
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* dtype;
  std::uint8_t num_channels, num_warps;  // v3: most channels that it may use
  const char *algorithm, *protocol;
};
struct PointToPointBody {
  const char* function;
  void* buffer;
  const char* dtype;
  std::size_t count;
  int peer;
  std::uint8_t num_channels;  // from v4
};
struct ProxyOpBody {
  std::int32_t pid;  // of the process whose operation it is
  std::uint8_t channel;
  int peer, num_steps, chunk_bytes, is_send;
};
struct KernelChannelBody {
  std::uint8_t channel;
  std::uint64_t timer;  // from v4: nanoseconds of the GPU's global timer
};
struct GroupCallBody {
  bool captured;  // into a CUDA graph
  int depth;      // 1: the group that a single call makes for itself
};
struct CollectiveCallBody {
  const char* function;
  std::size_t count;
  const char* dtype;
  int root;
  void* stream;
  bool captured;
};
struct PointToPointCallBody {
  const char* function;
  std::size_t count;
  const char* dtype;
  void* stream;
  bool captured;
};
struct CopyCollectiveBody {
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char *dtype, *strategy;
  bool syncs_in_batch;
  std::uint32_t batch_size, num_batches, number;
  void* stream;
};

union BodyV3 {
  struct {
    const char* communicator;
    std::uint64_t hash;
    CollectiveBody body;
  } collective;
  struct {
    const char* communicator;
    std::uint64_t hash;
    PointToPointBody body;
  } point_to_point;
  ProxyOpBody proxy_op;
  KernelChannelBody kernel_channel;  // without timer
};
union BodyV4 {
  CollectiveBody collective;
  PointToPointBody point_to_point;
  ProxyOpBody proxy_op;
  KernelChannelBody kernel_channel;
};
union BodyV5 {
  CollectiveBody collective;
  PointToPointBody point_to_point;
  ProxyOpBody proxy_op;
  KernelChannelBody kernel_channel;
  GroupCallBody group_call;
  CollectiveCallBody collective_call;
  PointToPointCallBody point_to_point_call;
  CopyCollectiveBody copy_collective;  // v6
};

template <typename Type, typename Body>
struct Descriptor {
  Type type;  // an EventBit
  void* parent;
  int rank;  // in the communicator; not set for every kind
  Body body;
};
using DescriptorV3 = Descriptor<std::uint8_t, BodyV3>;
using DescriptorV4 = Descriptor<std::uint8_t, BodyV4>;
using DescriptorV5 = Descriptor<std::uint64_t, BodyV5>;  // and v6
static_assert(sizeof(DescriptorV3) == 120 && sizeof(DescriptorV4) == 104 && sizeof(DescriptorV5) == 112);
static_assert(offsetof(DescriptorV3, body) == 24 && offsetof(DescriptorV4, body) == 24);
static_assert(offsetof(CollectiveBody, count) == 32 && offsetof(CollectiveBody, root) == 40);
static_assert(offsetof(CollectiveBody, dtype) == 48 && offsetof(CollectiveBody, num_channels) == 56);
static_assert(offsetof(CollectiveBody, algorithm) == 64 && offsetof(CollectiveBody, protocol) == 72);
static_assert(offsetof(PointToPointBody, dtype) == 16 && offsetof(PointToPointBody, count) == 24);
static_assert(offsetof(PointToPointBody, peer) == 32 && offsetof(PointToPointBody, num_channels) == 36);
static_assert(offsetof(KernelChannelBody, timer) == 8 && offsetof(GroupCallBody, depth) == 4);
static_assert(offsetof(CollectiveCallBody, captured) == 40 && offsetof(PointToPointCallBody, captured) == 32);
static_assert(offsetof(CopyCollectiveBody, strategy) == 56 && offsetof(CopyCollectiveBody, stream) == 80);

// With kKernelChannelStop, from v4.
struct StateArguments {
  std::uint64_t timer;
};

using Log = void (*)();
// v3 tells nothing of the communicator. v4 and v5 do: mask, name, hash, nodes, ranks and rank, in another order.
using InitV3 = int (*)(void** context, int* mask);
using InitV4 = int (*)(void** context, int* mask, const char* name, std::uint64_t hash, int num_nodes, int num_ranks,
                       int rank, Log log);
using InitV5 = int (*)(void** context, std::uint64_t hash, int* mask, const char* name, int num_nodes, int num_ranks,
                       int rank, Log log);

template <typename Init, typename Descriptor>
struct Plugin {
  const char* name;
  Init init;
  int (*start)(void* context, void** handle, Descriptor* descriptor);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};
using PluginV3 = Plugin<InitV3, DescriptorV3>;
using PluginV4 = Plugin<InitV4, DescriptorV4>;
using PluginV5 = Plugin<InitV5, DescriptorV5>;  // and v6
static_assert(sizeof(PluginV3) == 48);

}  // namespace spscope::nccl
