// Masks by recipe, for jobs that run one after another on the same ones: divisions of the ranks, cells of a sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

#include "backend/mask/block_mask.h"

namespace spscope {

// Thread-safe. A mask that is being made is waited for, not made twice.
class MaskCache {
 public:
  // When the bits of its masks exceed `most_bytes`, all are dropped but the newest and those that are being made.
  explicit MaskCache(std::int64_t most_bytes = std::int64_t{1} << 28) : most_bytes_(most_bytes) {}

  // Throws the Error of `make`; what else it throws is one of kInternal.
  BlockMask get(const std::string& recipe, const std::function<BlockMask()>& make);

 private:
  using Made = std::shared_future<BlockMask>;
  const std::int64_t most_bytes_;
  std::mutex mutex_;  // of all below
  std::int64_t bytes_ = 0;
  std::map<std::string, Made> masks_;
};

}  // namespace spscope
