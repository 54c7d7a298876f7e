// Calls: what threads of the program called NCCL for (from v5): collectives, sends, receives, and the ends of groups.
//
// NCCL names the call as parent of its operations, also after it has stopped: those of a group are enqueued at its end.
// So a call keeps its place until the places have been used once round, and the begin of an operation on the host can
// be had from it. Ended ones wait for the collector in a queue of fixed size.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectors/nccl/handle.h"
#include "collectors/nccl/short_text.h"

namespace spscope::nccl {

struct EndedCall {
  ShortText<24> function = {};  // as operations have it; empty: the end of a group
  int thread = 0;               // its number in the system
  std::int64_t begin_ns = 0, end_ns = 0;
};

class Calls {
 public:
  static constexpr std::uint32_t kMax = 4096;

  Calls();

  // -- NCCL's threads
  void* start(const char* function, bool captured, std::int64_t now_ns) noexcept;
  void* start_group(bool by_program, std::int64_t now_ns) noexcept;
  void group_end_started(const Handle& handle, std::int64_t now_ns) noexcept;
  void stop(const Handle& handle, std::int64_t now_ns) noexcept;
  // When the call began; nothing when it is not known, or was captured into a graph that is launched later.
  std::optional<std::int64_t> begin_ns(const void* call) noexcept;

  // -- the collector
  std::vector<EndedCall> take_ended();
  // That found no room in the queue, or never stopped.
  std::int64_t dropped() const noexcept { return dropped_; }
  static std::int64_t memory_bytes() { return kMax * static_cast<std::int64_t>(sizeof(Place) + 2 * sizeof(EndedCall)); }

 private:
  struct Place {
    std::mutex mutex;
    std::uint64_t use = 0;
    EndedCall call;
    bool open = false, captured = false;
    bool is_group = false, by_program = false;
  };
  void* take_place(const char* function, bool captured, bool is_group, bool by_program, std::int64_t now_ns) noexcept;

  std::unique_ptr<Place[]> places_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex ended_mutex_;
  std::vector<EndedCall> ended_;
  std::atomic<std::int64_t> dropped_{0};
};

}  // namespace spscope::nccl
