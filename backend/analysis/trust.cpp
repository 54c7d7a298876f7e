#include "backend/analysis/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/config/cluster.h"

namespace spscope {
namespace {

std::string percent(double fraction) { return std::to_string(std::llround(100 * fraction)) + " %"; }

}  // namespace

std::optional<double> compute_deviation(const std::vector<std::int64_t>& attention_ns,
                                        const std::vector<double>& tiles_by_rank) {
  const auto ranks = static_cast<double>(attention_ns.size());
  if (attention_ns.size() < 2 || attention_ns.size() != tiles_by_rank.size()) return std::nullopt;
  const double time = std::accumulate(attention_ns.begin(), attention_ns.end(), 0.0) / ranks;
  const double tiles = std::accumulate(tiles_by_rank.begin(), tiles_by_rank.end(), 0.0) / ranks;
  if (time <= 0 || tiles <= 0) return std::nullopt;
  double largest = 0;
  for (std::size_t r = 0; r < attention_ns.size(); ++r)
    largest = std::max(largest, std::abs(static_cast<double>(attention_ns[r]) / time - tiles_by_rank[r] / tiles));
  return largest;
}

std::string disturbance(const StrategyResult& s) {
  if (!s.provenance || s.provenance->compute != Source::kMeasured || s.provenance->timing != Timing::kClean) return "";
  if (s.compute_deviation.value_or(0) > kLargestDeviation)
    return "a rank of " + s.label + " was " + percent(*s.compute_deviation) +
           " off the time its work should take (limit " + percent(kLargestDeviation) + ")";
  if (!s.makespan_ns || *s.makespan_ns <= 0 || !s.makespan_spread_ns) return "";
  const double spread = static_cast<double>(*s.makespan_spread_ns) / static_cast<double>(*s.makespan_ns);
  if (spread > kLargestSpread)
    return "repeats of " + s.label + " spread by " + percent(spread) + " (limit " + percent(kLargestSpread) + ")";
  return "";
}

bool foreign_compute(const StrategyResult& s, const Workload& workload) {
  if (!s.compute_scale || workload.cluster == "local") return false;
  return *s.compute_scale > kSlowestOwnCompute || *s.compute_scale < kFastestOwnCompute;
}

std::string device_name(const std::string& cluster) {
  if (find_cluster_preset(cluster) == nullptr) return cluster;
  const std::size_t x = cluster.rfind('x');
  return x == std::string::npos || x == 0 ? cluster : cluster.substr(0, cluster[x - 1] == '-' ? x - 1 : x);
}

std::string ranks_on(int ranks, const std::string& cluster) {
  if (find_cluster_preset(cluster) != nullptr) return fmt::format("{} x {}", ranks, device_name(cluster));
  return fmt::format("{} rank{} of {}", ranks, ranks == 1 ? "" : "s", cluster);
}

}  // namespace spscope
