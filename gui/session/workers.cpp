#include "gui/session/workers.h"

#include <sys/resource.h>

#include <utility>

namespace spscope::gui {
namespace {

constexpr int kNicer = 10;

}  // namespace

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
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(WorkKind::kRead); });
  threads_.emplace_back([this] { run(WorkKind::kChild); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (std::deque<Question>& questions : waiting_) {
      for (const Question& question : questions) question.cancelled.cancel();
      questions.clear();
    }
    for (const auto& [thread, cancelled] : current_) cancelled.cancel();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::post(Cancelled cancelled, std::function<void(Readers&)> work, WorkKind kind) {
  {
    const std::lock_guard lock(mutex_);
    waiting_[static_cast<std::size_t>(kind)].push_back({std::move(cancelled), std::move(work)});
  }
  changed_.notify_all();  // one that is woken may be of the other kind
}

void Workers::let_go(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    closed_.push_back(path);
  }
  changed_.notify_all();
}

void Workers::discard(std::shared_ptr<const void> answer) {
  {
    const std::lock_guard lock(mutex_);
    discarded_.push_back(std::move(answer));
  }
  changed_.notify_all();
}

void Workers::free_discarded(std::unique_lock<std::mutex>& lock) {
  while (!discarded_.empty()) {
    std::vector<std::shared_ptr<const void>> old = std::exchange(discarded_, {});
    lock.unlock();
    old.clear();
    lock.lock();
  }
}

int Workers::busy() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(waiting_[0].size() + waiting_[1].size()) + running_;
}

void Workers::run(WorkKind kind) {
  // The thread that draws comes first. On Linux this is of the calling thread alone.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNicer);
  Readers readers;
  std::deque<Question>& waiting = waiting_[static_cast<std::size_t>(kind)];
  std::size_t let_go = 0;  // so many of closed_
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      const auto may_answer = [&] { return !waiting.empty() && !is_exhausted(); };
      changed_.wait(lock, [&] { return stopping_ || may_answer() || let_go < closed_.size() || !discarded_.empty(); });
      if (stopping_) return;
      if (!may_answer()) free_discarded(lock);
      while (let_go < closed_.size()) readers.open_.erase(closed_[let_go++]);
      if (!may_answer()) continue;
      question = std::move(waiting.back());
      waiting.pop_back();
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
