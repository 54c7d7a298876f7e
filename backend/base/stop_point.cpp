#include "backend/base/stop_point.h"

#include <utility>

#include "backend/base/error.h"

namespace spscope {

static thread_local const std::atomic<bool>* asked_to_stop = nullptr;

StopScope::StopScope(const std::atomic<bool>* stop) : before_(std::exchange(asked_to_stop, stop)) {}
StopScope::~StopScope() { asked_to_stop = before_; }

void stop_point() {
  if (asked_to_stop != nullptr && asked_to_stop->load(std::memory_order_relaxed))
    throw Error(ErrorCode::kInterrupted, "the run was interrupted");
}

}  // namespace spscope
