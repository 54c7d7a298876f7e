// StrategyResult of strategies that were planned and not run: what `plan` prints.
#pragma once

#include <span>

#include "backend/analysis/strategy_result.h"
#include "backend/job/planned_layer.h"

namespace spscope {

// The part of a result that is the same for all layers: name, parameters, legality, and the mesh that the strategy
// decided for the first one.
StrategyResult describe_strategy(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                 const Decision& decision);

// A layer has no plan: the result keeps its name, its parameters and the meshes so far, and has this problem and no
// figures, as a stored strategy that was refused while it ran.
void refuse(StrategyResult& result, Problem problem);

// The number of a mesh in the record. One that is new is added, and the label names its degrees from then on.
std::size_t number_of_mesh(StrategyRecord& record, const ChosenStrategy& chosen, const RankMesh& mesh);

// Adds one planned layer; the figures of the strategy are there after finish_result().
void add_layer(StrategyResult& result, const ChosenStrategy& chosen, const PlannedLayer& planned, int layer,
               int denoise_step);
void finish_result(StrategyResult& result);

// What the workload is, for the head of every result; its density is left to the caller.
Workload describe_workload(const Job& job, const Request& request, const std::string& pattern);

// What the passes of guidance that run at once take to be combined once a denoise step, on a cluster of the job's
// shape.
std::int64_t combining_ns(const Job& job, const ClusterPreset& preset);

// Nodes of the ranks of a job.
std::vector<int> rank_map(const Job& job, int ranks);

}  // namespace spscope
