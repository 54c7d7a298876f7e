// TrafficCounter: bytes that really moved between ranks, counted by the threads that move them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/lanes/communicator.h"

namespace spscope {

class TrafficCounter {
 public:
  // `node_of` sorts bytes into those inside a node and those between nodes.
  TrafficCounter(int ranks, std::function<int(int rank)> node_of);

  void reset();
  // Thread-safe. A copy inside a rank counts nothing.
  void moved(int src, int dst, std::int64_t num_bytes);
  CountedBytes bytes() const;
  // Staging that sums took at one time. Thread-safe.
  void staged(int rank, std::int64_t num_bytes);
  std::vector<std::int64_t> staging_peak_bytes() const;

 private:
  struct alignas(64) Counters {
    std::atomic<std::int64_t> sent{0}, received{0}, intra{0}, inter{0}, staging{0};
  };
  std::vector<Counters> counters_;
  std::vector<int> node_;  // by rank
};

}  // namespace spscope
