// A bounded queue between the two threads of a merge. Emptied batches are recycled, so that their memory is used again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace spscope {

template <typename Batch>
class MergePipe {
 public:
  // An emptied batch to fill, new or used.
  Batch take_empty() {
    const std::lock_guard lock(mutex_);
    if (empty_.empty()) return Batch();
    Batch batch = std::move(empty_.back());
    empty_.pop_back();
    return batch;
  }
  // Waits for room. False when the reader has stopped.
  bool push(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return full_.size() < kMaxBatches || abandoned_; });
    if (abandoned_) return false;
    full_.push_back(std::move(batch));
    changed_.notify_all();
    return true;
  }
  // No more batches come.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  // Waits for a batch; nothing after the last.
  std::optional<Batch> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !full_.empty() || finished_; });
    if (full_.empty()) return std::nullopt;
    Batch batch = std::move(full_.front());
    full_.pop_front();
    changed_.notify_all();
    return batch;
  }
  void recycle(Batch batch) {
    const std::lock_guard lock(mutex_);
    empty_.push_back(std::move(batch));
  }
  // The reader stops.
  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kMaxBatches = 16;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> full_;
  std::vector<Batch> empty_;
  bool finished_ = false, abandoned_ = false;
};

}  // namespace spscope
