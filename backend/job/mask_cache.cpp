#include "backend/job/mask_cache.h"

namespace spscope {

BlockMask MaskCache::get(const std::string& recipe, const std::function<BlockMask()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto kept = masks_.find(recipe); kept != masks_.end()) return kept->second;
  }
  BlockMask mask = make();
  const std::int64_t blocks = mask.blocks(), bytes = mask.heads() * blocks * blocks / 8;
  const std::lock_guard lock(mutex_);
  if (bytes_ + bytes > most_bytes_) {
    masks_.clear();
    bytes_ = 0;
  }
  if (masks_.emplace(recipe, mask).second) bytes_ += bytes;
  return mask;
}

}  // namespace spscope
