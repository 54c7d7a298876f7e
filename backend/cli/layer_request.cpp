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
  request.batch = job.model.batch;
  request.dtype = job.config.run.dtype;
  request.text = job.config.run.text;
  request.ranks_per_node = job.cluster.gpus_per_node;
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

}  // namespace spscope
