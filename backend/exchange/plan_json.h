// Plans as JSON, in full, for other programs: an object a line for each op, message, post and value, so that a plan of
// a million ops is written without holding its text. schemas/plan_ops.schema.json names the keys, schemas/plan_ops.md
// explains them.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "backend/config/cluster.h"
#include "backend/plan/plan.h"
#include "backend/plan/request.h"
#include "backend/schedule/network.h"

namespace spscope {

// One JSON document with the plans of one layer: the workload, the numbers of the cluster, and of each plan all values,
// posts, ops and messages with the schedule that the cost profile and the network give. Written piece by piece.
class PlanJson {
 public:
  // Begins the document. `out`, `preset` and `network` must outlive this object.
  PlanJson(std::ostream& out, std::string_view tool_version, const Request& request, const ClusterPreset& preset,
           const Network& network, int layer, int denoise_step);
  // REQUIRES: verify(plan) is empty; the plan is one of the request.
  void add(const std::string& strategy, const std::string& label, const Plan& plan);
  void end();

 private:
  std::ostream& out_;
  const ClusterPreset& preset_;
  const Network& network_;
  int num_plans_ = 0;
};

}  // namespace spscope
