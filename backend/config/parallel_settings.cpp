#include "backend/config/parallel_settings.h"

#include <fmt/format.h>

namespace spscope {

std::vector<ParallelSetting> parallel_settings(const Model& model, const Cluster& cluster) {
  std::vector<ParallelSetting> settings;
  for (int dp = 1; dp <= cluster.ranks; ++dp) {
    if (cluster.ranks % dp != 0) continue;
    const int replica = cluster.ranks / dp;
    if (!aligned_with_nodes(replica, cluster.gpus_per_node)) continue;
    for (int guidance = 1; guidance <= model.cfg; ++guidance)
      if (model.cfg % guidance == 0 && replica % guidance == 0 &&
          aligned_with_nodes(replica / guidance, cluster.gpus_per_node))
        settings.push_back({dp, guidance});
  }
  return settings;
}

void check_guidance(const Model& model, const Cluster& cluster, std::vector<Problem>& problems) {
  if (model.cfg % cluster.guidance == 0) return;
  problems.push_back({ErrorCode::kConfigConflict, "cluster.guidance",
                      fmt::format("{} passes at once, but {} has {} forward pass{} a denoise step", cluster.guidance,
                                  model.name, model.cfg, model.cfg == 1 ? "" : "es"),
                      model.cfg == 1 ? "leave guidance out, or set model.cfg = 2 for a model that is run with guidance"
                                     : "guidance must divide model.cfg"});
}

}  // namespace spscope
