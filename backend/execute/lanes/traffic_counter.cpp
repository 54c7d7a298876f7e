#include "backend/execute/lanes/traffic_counter.h"

namespace spscope {
namespace {

constexpr auto kCounts = std::memory_order_relaxed;

}  // namespace

TrafficCounter::TrafficCounter(int ranks, std::function<int(int rank)> node_of)
    : counters_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) node_.push_back(node_of(rank));
}

void TrafficCounter::reset() {
  for (Counters& c : counters_) c.sent = 0, c.received = 0, c.intra = 0, c.inter = 0, c.staging = 0;
}

void TrafficCounter::moved(int src, int dst, std::int64_t num_bytes) {
  if (src == dst) return;
  const auto from = static_cast<std::size_t>(src), to = static_cast<std::size_t>(dst);
  counters_[from].sent.fetch_add(num_bytes, kCounts);
  (node_[from] == node_[to] ? counters_[from].intra : counters_[from].inter).fetch_add(num_bytes, kCounts);
  counters_[to].received.fetch_add(num_bytes, kCounts);
}

CountedBytes TrafficCounter::bytes() const {
  CountedBytes traffic;
  for (const Counters& c : counters_) {
    traffic.sent.push_back(c.sent);
    traffic.received.push_back(c.received);
    traffic.sent_intra_node.push_back(c.intra);
    traffic.sent_inter_node.push_back(c.inter);
  }
  return traffic;
}

void TrafficCounter::staged(int rank, std::int64_t num_bytes) {
  auto& staging = counters_[static_cast<std::size_t>(rank)].staging;
  for (std::int64_t seen = staging; seen < num_bytes && !staging.compare_exchange_weak(seen, num_bytes);) continue;
}

std::vector<std::int64_t> TrafficCounter::staging_peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const Counters& c : counters_) peaks.push_back(c.staging);
  return peaks;
}

}  // namespace spscope
