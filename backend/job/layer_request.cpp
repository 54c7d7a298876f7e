#include "backend/job/layer_request.h"

#include "backend/plan/layer_kernels.h"

namespace spscope {
namespace {

LayerBlock block_of(const Model& model, int layer) {
  switch (model.family) {
    case ModelFamily::kWan:
      return LayerBlock::kWan;
    case ModelFamily::kMmdit:  // its double-stream layers come first
      return layer < model.layers - model.single_layers ? LayerBlock::kDoubleStream : LayerBlock::kSingleStream;
    case ModelFamily::kCogVideoX:
      return LayerBlock::kJoint;
    case ModelFamily::kSpatiotemporal:
      return LayerBlock::kSpatialTemporal;
  }
  return LayerBlock::kAttention;
}

// With run.scope = layer: what the layer is made of around its attention.
void add_block(const Job& job, int layer, Request& request) {
  if (job.config.run.scope != RunScope::kLayer) return;
  request.block = block_of(job.model, layer);
  request.context_tokens = job.model.cross_text_tokens;
  request.mlps = job.model.mlp_per_layer;
  request.kernels = layer_kernels(request);
}

}  // namespace

Request make_layer_request(const Job& job, int layer, const LayerMasks& executed, const LayerMasks* known) {
  Request request;
  request.ranks = job.cluster.plan_ranks();
  request.heads = job.model.heads;
  request.head_dim = job.model.head_dim;
  request.hidden = job.model.hidden;
  request.ffn = job.model.ffn;
  request.outer_tokens = static_cast<std::int32_t>(job.model.outer());
  request.inner_tokens = static_cast<std::int32_t>(job.model.inner());
  request.text_tokens = job.model.spatiotemporal() ? 0 : job.model.joint_text_tokens;
  // Patterns put text last; files keep the order of the model.
  request.text_first = job.model.text_first && !job.config.mask.file.empty();
  request.grid = job.model.grid;
  request.batch = job.model.batch;
  request.dtype = job.config.run.dtype;
  request.text = job.config.run.text;
  request.ranks_per_node = job.cluster.gpus_per_node;
  request.ranks_in_use = job.cluster.ranks;
  request.cluster = &job.cluster.preset;
  request.sets = std::make_shared<SetTable>();
  const auto counter = [&](const SourcedMask& m) { return std::make_shared<MaskCounter>(request.sets, m.mask); };
  const int inner = Request::axis_index(AttendedAxis::kInner), outer = Request::axis_index(AttendedAxis::kOuter);
  request.executed_masks[inner] = counter(executed.inner);
  if (executed.temporal) request.executed_masks[outer] = counter(*executed.temporal);
  if (known == &executed) {
    for (const int axis : {inner, outer}) request.known_masks[axis] = request.executed_masks[axis];
  } else if (known) {
    request.known_masks[inner] = counter(known->inner);
    if (known->temporal) request.known_masks[outer] = counter(*known->temporal);
  }
  add_block(job, layer, request);
  define_outputs(request);
  return request;
}

}  // namespace spscope
