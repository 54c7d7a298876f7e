#include "backend/fit/row_plans.h"

#include <vector>

#include "backend/job/layer_request.h"
#include "backend/mask/pattern.h"

namespace spscope {
namespace {

SourcedMask dense_mask(const RunConfig& config, int heads, const TokenGrid& grid, int text_tokens) {
  PatternRequest request;
  request.heads = heads;
  request.grid = grid;
  request.text_tokens = text_tokens;
  request.block = config.mask.block;
  return {find_pattern("dense")->generate(request), ""};
}

LayerMasks dense_masks(const Job& job) {
  const Model& model = job.model;
  const auto& [frames, height, width] = model.grid;
  LayerMasks dense;
  if (model.spatiotemporal()) {
    dense.inner = dense_mask(job.config, model.heads, {1, height, width}, 0);
    dense.temporal = dense_mask(job.config, model.heads, {1, 1, frames}, 0);
  } else {
    dense.inner = dense_mask(job.config, model.heads, model.grid, model.joint_text_tokens);
  }
  return dense;
}

}  // namespace

void for_each_kind_of_layer(const Job& job, const std::function<void(const Request&, const LayerDecision&)>& plan) {
  const LayerMasks dense = dense_masks(job);
  const ChosenStrategy& chosen = job.strategies.front();
  const int first_single = job.model.first_single_layer();
  std::vector<int> layers;
  if (first_single > 0) layers.push_back(0);
  if (job.model.single_layers > 0) layers.push_back(first_single);
  for (const int layer : layers) {
    const Request request = make_layer_request(job, layer, dense, &dense);
    std::vector<Problem> problems = chosen.strategy->legal(request, chosen.parameters);
    if (!problems.empty()) throw Error(std::move(problems));
    LayerDecision decision;
    decision.decision = chosen.strategy->decide(request, chosen.parameters);
    plan(request, decision);
  }
}

}  // namespace spscope
