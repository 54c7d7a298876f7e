// QuerySlot: one question of a view, and its newest answer. A view asks in each frame with a key that says what it
// wants to know; only another key is another question, which cancels the one before. The old answer stays until a new
// one is there, so that a view always draws what it has.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "gui/session/workers.h"

namespace spscope::gui {

// What a question in progress says of itself, from its thread; the window reads it.
struct QueryProgress {
  std::atomic<double> fraction = -1;  // 0 to 1; below 0: not known
};

template <typename T>
class QuerySlot {
 public:
  using Answer = std::shared_ptr<const T>;
  // `function(readers, cancelled, progress)` gives the answer or throws Error; it runs on another thread.
  using Function = std::function<T(Readers&, const Cancelled&, QueryProgress&)>;

  QuerySlot() = default;
  ~QuerySlot() { forget(); }
  QuerySlot(const QuerySlot&) = delete;
  QuerySlot& operator=(const QuerySlot&) = delete;

  void ask(Workers& workers, std::string key, Function function, WorkKind kind = WorkKind::kRead) {
    if (shared_ && shared_->key == key) return;
    cancel();
    workers_ = &workers;
    life_ = workers.life();
    shared_ = std::make_shared<Shared>();
    shared_->key = std::move(key);
    shared_->asked_ns = now_ns();
    auto state = shared_;
    const auto work = [state, function = std::move(function)](Readers& readers) {
      auto answer =
          capture([&] { return std::make_shared<const T>(function(readers, state->cancelled, state->progress)); });
      const std::lock_guard lock(state->mutex);
      if (answer) {
        state->answer = *std::move(answer);
      } else {
        state->error = answer.error();
      }
      state->done = true;
    };
    workers.post(state->cancelled, work, kind);
  }
  // Takes over what came, at most once a frame: what value() gave stays until the next frame has looked, so that views
  // may hold pointers into it for a frame.
  void poll() {
    if (!shared_ || (polled_frame_ == workers_->frame() && polled_frame_ != 0)) return;
    polled_frame_ = workers_->frame();
    discard(std::exchange(before_, nullptr));
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->done || shared_->cancelled.is_cancelled()) return;
    if (shared_->answer && answer_ != shared_->answer) {
      before_ = std::exchange(answer_, shared_->answer);
      answer_key_ = shared_->key;
    }
  }
  // Of the key asked last, or of one before while that is being answered; nullptr when there is none.
  const T* value() {
    poll();
    return answer_.get();
  }
  Answer share() {
    poll();
    return answer_;
  }
  // Whether value() is the answer to the question asked last.
  bool current() {
    poll();
    return shared_ && answer_ && answer_key_ == shared_->key;
  }
  bool loading() {
    if (!shared_) return false;
    const std::lock_guard lock(shared_->mutex);
    return !shared_->done && !shared_->cancelled.is_cancelled();
  }
  double loading_s() const { return shared_ ? static_cast<double>(now_ns() - shared_->asked_ns) * 1e-9 : 0; }
  std::optional<double> progress() const {
    const double fraction = shared_ ? shared_->progress.fraction.load() : -1;
    return fraction >= 0 ? std::optional(fraction) : std::nullopt;
  }
  // Why the question asked last has no answer; nullptr while it is being answered, and when it has one.
  const Error* error() {
    poll();
    if (!shared_) return nullptr;
    const std::lock_guard lock(shared_->mutex);
    return shared_->done && shared_->error ? &*shared_->error : nullptr;
  }
  bool was_cancelled() const { return shared_ && shared_->cancelled.is_cancelled(); }
  // Gives the question up. It can be asked again after forget().
  void cancel() {
    if (shared_) shared_->cancelled.cancel();
  }
  void forget() {
    cancel();
    discard(std::exchange(answer_, nullptr));
    discard(std::exchange(before_, nullptr));
    discard(std::exchange(shared_, nullptr));
    answer_key_.clear();
  }

 private:
  struct Shared {
    std::string key;
    Cancelled cancelled;
    std::int64_t asked_ns = 0;
    QueryProgress progress;
    std::mutex mutex;
    bool done = false;
    std::shared_ptr<const T> answer;
    std::optional<Error> error;
  };
  // What is large, as a table of a million rows, takes longer to free than a frame may. A slot may outlive the workers.
  void discard(std::shared_ptr<const void> old) {
    if (old && !life_.expired()) workers_->discard(std::move(old));
  }

  std::shared_ptr<Shared> shared_;
  Answer answer_, before_;
  Workers* workers_ = nullptr;
  std::weak_ptr<const void> life_;  // of the workers
  int polled_frame_ = 0;
  std::string answer_key_;
};

}  // namespace spscope::gui
