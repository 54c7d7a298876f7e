#include "bench/gpu/watched_ops.h"

#include "backend/base/check.h"
#include "backend/base/clock.h"

namespace spscope::gpu_check {

std::vector<WatchedOps::Pass> WatchedOps::passes(OpId op) const {
  const auto at = static_cast<std::size_t>(op);
  SPSCOPE_CHECK(launched_ns_[at].size() == times_[at].size());
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < times_[at].size(); ++i) passes.push_back({launched_ns_[at][i], times_[at][i]});
  return passes;
}

void WatchedOps::launching(int rank, int /*lane*/, OpId op) noexcept {
  if (!timed_) return;
  launched_ns_[static_cast<std::size_t>(op)].push_back(now_ns());
  if (collector_ != nullptr) collector_->begin_launch(rank, kRun, op);
}

void WatchedOps::launched() noexcept {
  if (timed_ && collector_ != nullptr) collector_->end_launch();
}

OpRecorder::EventCounts WatchedOps::ended(int /*rank*/, int /*lane*/, OpId op, const OpTimes& times) noexcept {
  if (timed_) times_[static_cast<std::size_t>(op)].push_back(times);
  return {};
}

}  // namespace spscope::gpu_check
