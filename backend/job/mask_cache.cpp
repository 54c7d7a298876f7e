#include "backend/job/mask_cache.h"

#include <chrono>
#include <exception>

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
  const std::int64_t rows = std::int64_t{mask->heads()} * mask->coarse_blocks(),
                     bytes = rows * mask->words_per_row() * 8;
  const std::lock_guard lock(mutex_);
  if (bytes_ + bytes > most_bytes_) {
    const auto is_made = [](const Made& made) {
      return made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    std::erase_if(masks_, [&](const auto& kept) { return kept.first != recipe && is_made(kept.second); });
    bytes_ = 0;
  }
  bytes_ += bytes;
  return *mask;
}

}  // namespace spscope
