// A fake NCCL. The layouts of its calls are those of collectors/nccl/interface.h, as the plugin's are, so it shows
// nothing about whether NVIDIA's are the same: whoever changes them compares them with src/include/plugin/profiler of
// NCCL.
//
// It finds its profiler plugin as NCCL does, the newest interface first, and calls it in that interface's descriptors,
// for the events that the plugin asked for. What is called, and in which order, is up to the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace spscope::fake_nccl {

// What an operation is, as NCCL describes it.
struct Work {
  const char* function = "AllReduce";
  std::uint64_t sequence = 0;
  std::size_t count = 1;
  const char* dtype = "ncclFloat32";
  int root = 0;
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  int channels = 1;
  int peer = -1;  // not negative: a send or receive
};

class FakeNccl {
 public:
  // `newest` is the newest interface that it knows: 3 is NCCL 2.26, 4 is 2.27, 5 is 2.28, 6 is 2.29 and later. `plugin`
  // is NCCL_PROFILER_PLUGIN. It is closed with the last communicator, and loaded again for the next.
  explicit FakeNccl(int newest, std::string plugin = "STATIC_PLUGIN");
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  // The interface that the plugin was found with; 0: none.
  int interface() const { return interface_; }
  int mask() const;
  // A communicator; what is returned is its context.
  void* init(std::uint64_t hash, const char* name, int num_ranks, int rank);
  void finalize(void* context);

  // Handles of events; null where the plugin asked for none, or gave none.
  void* start_call(void* context, const char* function, bool captured = false);
  void* start_group(void* context, int depth);
  void group_end_starts(void* group);
  void* start(void* context, void* call, const Work& work);
  void* start_copies(void* context, const Work& work);
  void* start_channel(void* context, void* operation, int channel, std::uint64_t timer);
  // With the time at which it ended, where the interface tells it.
  void stop_channel(void* handle, std::uint64_t timer);
  void* start_proxy(void* context, void* operation, int pid);
  // Of any kind.
  void stop(void* handle);

 private:
  void load();
  void unload();
  bool wants(std::uint64_t bit) const { return (static_cast<std::uint64_t>(mask()) & bit) != 0; }
  template <typename Act>
  auto with_plugin(const Act& act) const;
  template <typename Fill>
  void* start_event(void* context, std::uint64_t type, void* parent, const Fill& fill);

  const int newest_;
  const std::string plugin_name_;
  int num_communicators_ = 0;
  void* library_ = nullptr;       // null: closed; what it gave is still called, as by a thread of NCCL's that is late
  const void* plugin_ = nullptr;  // PluginV3, PluginV4 or PluginV5
  int interface_ = 0;
  int mask_ = 0;
  // v3 tells it with operations; the same for all communicators of a test of v3.
  struct {
    const char* name = nullptr;
    std::uint64_t hash = 0;
    int rank = 0;
  } v3_;
};

}  // namespace spscope::fake_nccl
