#include "backend/job/weight_gather.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/number_text.h"
#include "backend/config/model_size.h"
#include "backend/schedule/network.h"

namespace spscope {

WeightGather weight_gather(const Job& job) {
  const Cluster& cluster = job.cluster;
  const ModelSize size = model_size(job.model);
  const int ranks = cluster.plan_ranks();
  WeightGather gather;
  gather.layer_bytes =
      (size.attention + size.ffn + size.modulation) * dtype_bytes(job.config.run.dtype) / std::max(1, job.model.layers);
  if (ranks == 1) return gather;
  const Network network = Network::of_cluster(cluster.preset, ranks, cluster.gpus_per_node, cluster.ranks);
  const auto all = static_cast<double>(gather.layer_bytes);
  const double nodes = network.num_nodes();
  const double port_ns = all * (ranks - 1) / ranks / network.port_rate(Collective::kAllGather, ranks);
  const double nic_ns = all * (nodes - 1) / nodes / network.nic_bytes_per_ns;
  const auto start_ns = static_cast<double>(network.t0_ns(Collective::kAllGather, 1, 0, ranks - 1));
  gather.layer_ns = start_ns + std::max(port_ns, nic_ns);
  return gather;
}

std::string gather_text(const WeightGather& gather) {
  return fmt::format("{} a layer, {} at the all-gather rate of this network where compute hides nothing",
                     bytes_text(static_cast<double>(gather.layer_bytes)), duration_text(gather.layer_ns));
}

std::string gather_note(const Job& job) {
  if (job.config.run.weights != WeightLayout::kSharded || job.cluster.plan_ranks() == 1) return "";
  return fmt::format("Gathering sharded weights is in no time: {}. Strategies that cut weights gather less.",
                     gather_text(weight_gather(job)));
}

}  // namespace spscope
