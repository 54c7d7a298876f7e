#include "backend/config/scaled_cluster.h"

#include <fmt/format.h>

namespace spscope {
namespace {

bool is_network(const ClusterFieldRow& row) { return row.name.starts_with("network."); }
bool between_nodes(const ClusterFieldRow& row) { return row.key.ends_with("nic_gbps"); }

// Multiplies the numbers that `chosen` names, and their ranges.
void scale(ClusterPreset& preset, double factor, bool (*chosen)(const ClusterFieldRow&)) {
  if (factor == 1) return;
  for (const ClusterFieldRow& row : cluster_fields()) {
    double& number = row.ref(preset);
    if (!chosen(row) || number == 0) continue;
    const std::string name(row.name);
    number *= factor;
    if (const auto range = preset.ranges.find(name); range != preset.ranges.end()) {
      range->second.low *= factor;
      range->second.high *= factor;
    }
    std::string& source = preset.sources[name];
    source += fmt::format("{}times {:.6g}, a what-if", source.empty() ? "" : "; ", factor);
    preset.origins.erase(name);
    (is_network(row) ? preset.network.provenance : preset.cost.provenance) = Provenance::kAssumed;
  }
}

}  // namespace

ClusterPreset scaled(const ClusterPreset& preset, const ClusterFactors& factors) {
  ClusterPreset other = preset;
  scale(other, factors.link,
        [](const ClusterFieldRow& row) { return is_network(row) && row.key.ends_with("gbps") && !between_nodes(row); });
  scale(other, factors.nic, [](const ClusterFieldRow& row) { return is_network(row) && between_nodes(row); });
  scale(other, factors.latency, [](const ClusterFieldRow& row) { return is_network(row) && row.key.ends_with("_ns"); });
  scale(other, 1 / factors.kernel, [](const ClusterFieldRow& row) { return row.name.starts_with("cost.attend_ns_"); });
  scale(other, 1 / factors.gemm, [](const ClusterFieldRow& row) { return row.name == "cost.gemm_ns_per_flop"; });
  scale(other, 1 / factors.memory, [](const ClusterFieldRow& row) {
    return row.name == "cost.move_ns_per_byte" || row.name == "cost.pack_ns_per_byte";
  });
  return other;
}

}  // namespace spscope
