// Plans as text: one op a line, a graph for Graphviz, or JSON with everything that a plan says.
#pragma once

#include <iosfwd>
#include <string>

#include "backend/config/cluster.h"
#include "backend/plan/plan.h"
#include "backend/plan/request.h"
#include "backend/schedule/network.h"

namespace spscope {

// "12  rank 1  lane 0  attend  step 2  heads 0-3  q 0-63 k 64-127  96 tiles  after 3,7"
void print_ops(std::ostream& out, const Plan& plan);
// One node an op, clustered by rank; communication is dashed, edges are dependencies.
void print_dot(std::ostream& out, const Plan& plan);

// One JSON document with the plans of one layer: the workload, the numbers of the cluster, and of each plan all values,
// posts, ops and messages with the schedule that the cost profile and the network give. Written piece by piece.
class PlanJson {
 public:
  // Begins the document. `out`, `preset` and `network` must outlive this object.
  PlanJson(std::ostream& out, const Request& request, const ClusterPreset& preset, const Network& network, int layer,
           int denoise_step);
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
