#include "gui/session/workers.h"

#include <utility>

namespace spscope::gui {

StoreReader& Readers::of(const std::string& path, int generation) {
  Open& open = open_[path];
  if (!open.reader || open.generation != generation) {
    open.reader.reset();
    open.reader = std::make_unique<StoreReader>(path);
    open.generation = generation;
  }
  open.reader->cancel_by(cancelled_);
  return *open.reader;
}

Workers::Workers(int threads, std::function<void()> wake, int most_answers)
    : wake_(std::move(wake)), most_answers_(most_answers) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Question& question : waiting_) question.cancelled.cancel();
    for (const auto& [thread, cancelled] : current_) cancelled.cancel();
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::post(Cancelled cancelled, std::function<void(Readers&)> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(cancelled), std::move(work)});
  }
  changed_.notify_one();
}

int Workers::busy() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(waiting_.size()) + running_;
}

void Workers::run() {
  Readers readers;
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || (!waiting_.empty() && !is_exhausted()); });
      if (stopping_) return;
      question = std::move(waiting_.back());
      waiting_.pop_back();
      ++running_;
      current_.emplace_back(std::this_thread::get_id(), question.cancelled);
    }
    readers.cancelled_ = question.cancelled;
    if (!question.cancelled.is_cancelled()) question.work(readers);
    {
      const std::lock_guard lock(mutex_);
      --running_;
      std::erase_if(current_, [](const auto& row) { return row.first == std::this_thread::get_id(); });
    }
    ++answered_;
    wake_();
  }
}

}  // namespace spscope::gui
