#include "backend/job/mask_cache.h"

namespace spscope {

BlockMask MaskCache::get(const std::string& recipe, const std::function<BlockMask()>& make) {
  if (const auto kept = masks_.find(recipe); kept != masks_.end()) return kept->second;
  BlockMask mask = make();
  const std::int64_t blocks = mask.blocks(), bytes = mask.heads() * blocks * blocks / 8;
  if (bytes_ + bytes > most_bytes_) {
    masks_.clear();
    bytes_ = 0;
  }
  bytes_ += bytes;
  masks_.emplace(recipe, mask);
  return mask;
}

}  // namespace spscope
