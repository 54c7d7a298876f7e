// CancelToken: how one thread tells another that it no longer wants what that one computes. Copies share one flag.
#pragma once

#include <atomic>
#include <memory>

#include "backend/base/error.h"

namespace spscope {

class CancelToken {
 public:
  CancelToken() : cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

  // For any thread, any number of times. There is no way back: the next question gets a token of its own.
  void cancel() const noexcept { cancelled_->store(true, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return cancelled_->load(std::memory_order_relaxed); }
  // Throws Error (kCancelled) once cancel() was called.
  void require_going() const {
    if (is_cancelled()) throw Error(ErrorCode::kCancelled, "the question was cancelled", "ask again");
  }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace spscope
