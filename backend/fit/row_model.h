// RowModel: the prediction of one time, as `spscope run` makes it for the row's config. Its plans are made once; only
// the numbers of the profile vary.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/config/profile_layers.h"
#include "backend/fit/row_config.h"
#include "backend/job/job.h"
#include "backend/plan/plan.h"

namespace spscope {

class RowModel {
 public:
  // Throws Error when the row has no run: a model that is not known, a strategy that it cannot have, or memory that its
  // GPUs have not. `folder`: of the files of write_cluster_of(); see row_config() for `cluster`.
  explicit RowModel(const TimingRow& row, const std::string& folder, const std::string& cluster = "");

  const TimingRow& row() const { return row_; }
  // The cluster as its file has it, before the layers fill it, and what the config asks of them.
  const ClusterPreset& layered() const { return layered_; }
  const ProfileChoices& choices() const { return choices_; }
  // The cluster with the built-in layers.
  const ClusterPreset& resolved() const { return job_.cluster.preset; }
  // On a cluster of this kind with other numbers: of the end to end time that the run prints, the part that the row is
  // of. A step or all of them leave out what is outside of the layers.
  double seconds(const ClusterPreset& cluster) const;

 private:
  // Layers of the model that are alike share a plan.
  void add_plans();
  const Plan& plan_of(int layer) const { return plans_[layer >= first_single_ && plans_.size() > 1 ? 1 : 0]; }

  TimingRow row_;
  Job job_;
  Workload workload_;
  ClusterPreset layered_;
  ProfileChoices choices_;
  int first_single_ = 0;  // of the model's layers
  std::vector<Plan> plans_;
};

}  // namespace spscope
