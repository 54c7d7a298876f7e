#include "backend/job/weight_gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/base/number_text.h"
#include "backend/config/model_size.h"
#include "backend/schedule/network.h"

namespace spscope {

WeightGather weight_gather(const Job& job) {
  const Cluster& cluster = job.cluster;
  const ModelSize size = model_size(job.model);
  const int ranks = cluster.replica_ranks();
  WeightGather gather;
  const double bytes_each = std::min<double>(weight_bytes(job.config.run), dtype_bytes(job.config.run.dtype));
  gather.layer_bytes = std::llround(static_cast<double>(size.attention + size.ffn + size.modulation) * bytes_each /
                                    std::max(1, job.model.layers));
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
  return fmt::format("{} a layer, up to {} if compute hides none of it",
                     bytes_text(static_cast<double>(gather.layer_bytes)), duration_text(gather.layer_ns));
}

std::string gather_note(const Job& job) {
  if (job.config.run.weights != WeightLayout::kSharded || job.cluster.replica_ranks() == 1) return "";
  return fmt::format("Not included: gathering the sharded weights, {}. Strategies that cut weights gather less.",
                     gather_text(weight_gather(job)));
}

}  // namespace spscope
