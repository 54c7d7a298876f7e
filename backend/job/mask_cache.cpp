#include "backend/job/mask_cache.h"

#include <exception>
#include <utility>

#include "backend/base/result.h"

namespace spscope {

BlockMask MaskCache::get(const std::string& recipe, const std::function<BlockMask()>& make) {
  std::promise<BlockMask> promise;
  {
    std::unique_lock lock(mutex_);
    if (const auto kept = masks_.find(recipe); kept != masks_.end()) {
      const Made made = kept->second;
      lock.unlock();
      return made.get();
    }
    masks_.emplace(recipe, promise.get_future().share());
  }
  const Result<BlockMask> mask = capture(make);
  if (!mask) {
    promise.set_exception(std::make_exception_ptr(mask.error()));
    const std::lock_guard lock(mutex_);
    masks_.erase(recipe);
    throw mask.error();
  }
  promise.set_value(*mask);
  const std::int64_t blocks = mask->blocks(), bytes = mask->heads() * blocks * blocks / 8;
  const std::lock_guard lock(mutex_);
  if (bytes_ + bytes > most_bytes_) {
    auto own = masks_.extract(recipe);
    masks_.clear();
    masks_.insert(std::move(own));
    bytes_ = 0;
  }
  bytes_ += bytes;
  return *mask;
}

}  // namespace spscope
