#include "backend/cli/layer_request.h"

namespace spscope {

Request make_layer_request(const Job& job, const LayerMasks& executed, const LayerMasks* known) {
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
  request.batch = job.model.batch;
  request.dtype = job.config.run.dtype;
  request.text = job.config.run.text;
  request.ranks_per_node = job.cluster.gpus_per_node;
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
  define_outputs(request);
  return request;
}

void for_each_layer(const Job& job, const MaskSource& source, const std::function<bool(const LayerOfJob&)>& visit) {
  const bool lagging = job.config.run.mask_lag > 0 && source.evolves();
  std::vector<std::optional<LayerMasks>> last(static_cast<std::size_t>(job.config.run.layers));
  for (int step = 0; step < job.config.run.denoise_steps; ++step)
    for (int layer = 0; layer < job.config.run.layers; ++layer) {
      std::optional<LayerMasks>& before = last[static_cast<std::size_t>(layer)];
      LayerMasks masks = source.at(step, layer);
      const LayerMasks* known = !lagging ? &masks : before ? &*before : nullptr;
      if (!visit({step, layer, masks, make_layer_request(job, masks, known)})) return;
      if (lagging) before = std::move(masks);
    }
}

}  // namespace spscope
