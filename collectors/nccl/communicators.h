// Communicators: those of NCCL's that told the plugin of themselves. A fixed table; each row has a lock of its own,
// held for the few instructions of a start, so that communicators in different threads do not wait for each other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectors/nccl/handle.h"
#include "collectors/nccl/short_text.h"

namespace spscope::nccl {

struct CommunicatorFacts {
  std::uint64_t hash = 0;  // the same on all ranks; 0: not known yet (v3)
  ShortText<48> name = {};
  int num_ranks = 0, rank = -1;  // in the communicator; 0 and -1: not known
};

class Communicators {
 public:
  static constexpr std::uint32_t kMax = 1024;

  // -- NCCL's threads
  // Null when the table is full, or there is no memory for it. `mask` is NCCL's, valid until remove(): it holds
  // `wanted` while watching.
  void* add(const CommunicatorFacts& facts, int* mask, int wanted) noexcept;
  // False: it names none that lives.
  bool remove(const void* context, std::int64_t now_ns) noexcept;
  // What v3 tells only with operations.
  void learn(const void* context, const CommunicatorFacts& facts) noexcept;
  bool lives(const void* context) noexcept;
  // The next number of a send to, or receive from, this peer; -1 when it cannot be counted, or not all before were.
  std::int64_t next_sequence(const void* context, int peer, bool send) noexcept;
  // An operation that found no room.
  void count_missed(const void* context) noexcept;

  // -- the collector
  // From now on NCCL calls for what was wanted, or for nothing.
  void watch(bool on) noexcept;

  struct State {
    std::uint32_t index = 0;
    std::uint64_t use = 0;
    CommunicatorFacts facts = {};
    std::int64_t removed_ns = 0;  // 0: it lives
    std::int64_t missed = 0;      // since it was last asked for
  };
  // All in the table, and counts what they missed from zero again.
  std::vector<State> take_states();
  // The row may be used again. REQUIRES: it was removed.
  void forget(std::uint32_t index) noexcept;
  bool any() noexcept;

 private:
  enum class Life : std::uint8_t { kFree, kLive, kRemoved };
  struct Row {
    std::mutex mutex;
    Life life = Life::kFree;
    std::uint64_t use = 0;
    CommunicatorFacts facts;
    int* mask = nullptr;
    int wanted = 0;
    std::int64_t removed_ns = 0, missed = 0;
    std::vector<std::uint32_t> sent, received;  // by peer
    bool counts_all = false;                    // NCCL was asked for each operation since it was made
  };
  Row* row_of(const Handle& handle) noexcept;

  std::unique_ptr<Row[]> rows_;  // made with the first: processes that never use NCCL have none
  std::mutex add_mutex_;         // of adding, and of watching_ against it
  bool watching_ = false;
  std::atomic<std::uint32_t> num_rows_{0};  // that were ever used
};

}  // namespace spscope::nccl
