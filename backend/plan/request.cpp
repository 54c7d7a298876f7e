#include "backend/plan/request.h"

namespace spscope {

std::int32_t Request::num_columns(Axis axis) const {
  switch (axis) {
    case Axis::kHeads:
      return heads;
    case Axis::kHidden:
      return hidden;
    case Axis::kFfn:
      return ffn;
    case Axis::kStat:
      return 1;
  }
  return 0;
}

std::int32_t Request::tensor_width(Tensor tensor) const {
  switch (tensor) {
    case Tensor::kQ:
    case Tensor::kK:
    case Tensor::kV:
    case Tensor::kO:
      return head_dim;
    case Tensor::kRowStats:
      return 2;
    case Tensor::kX:
    case Tensor::kF:
    case Tensor::kNorm:
      return 1;
  }
  return 0;
}

Request Request::attention(int ranks, int heads, int head_dim, BlockMask mask, Dtype dtype) {
  Request request;
  request.ranks = ranks;
  request.heads = heads;
  request.head_dim = head_dim;
  request.hidden = heads * head_dim;
  request.inner_tokens = mask.tokens();
  request.dtype = dtype;
  request.sets = std::make_shared<SetTable>();
  request.executed_masks[1] = std::make_shared<MaskCounter>(request.sets, std::move(mask));
  request.known_masks[1] = request.executed_masks[1];
  return request;
}

int num_attentions(const Request& request) { return request.spatiotemporal() ? 2 : 1; }

}  // namespace spscope
