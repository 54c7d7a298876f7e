// Workers: threads that answer the questions of the window, so that it never waits for a file. Each has readers of its
// own, since a StoreReader is for one thread. The newest question comes first: it is what the user looks at. One thread
// more does nothing but wait for programs, so that views are answered however long these take.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/store/store_reader.h"

namespace spscope::gui {

// Told by the one who asked: the answer is not wanted any more.
using Cancelled = CancelToken;

// The readers of one thread, by path and generation of the file.
class Readers {
 public:
  // Throws Error as StoreReader does. `generation` grows when the file was replaced. What is read ends with an Error
  // (kCancelled) once the question is cancelled.
  StoreReader& of(const std::string& path, int generation);

 private:
  struct Open {
    int generation = 0;
    std::unique_ptr<StoreReader> reader;
  };
  friend class Workers;
  std::map<std::string, Open> open_;
  Cancelled cancelled_;  // of the question that is being answered
};

// What a question waits for: reading and computing, or a program that it starts.
enum class WorkKind { kRead, kChild };

class Workers {
 public:
  // `wake` is called by a worker after each question, to have the window draw what came. Of more than `most_answers`
  // questions the others wait for ever, as if they took long: to see what is shown meanwhile.
  Workers(int threads, std::function<void()> wake, int most_answers = std::numeric_limits<int>::max());
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // `work` runs on one of the threads of its kind, unless it is cancelled before it began.
  void post(Cancelled cancelled, std::function<void(Readers&)> work, WorkKind kind = WorkKind::kRead);
  // No thread keeps this file open any longer than it takes to end the question that it answers.
  void let_go(const std::string& path);
  // Lets go of an answer on a thread that has no question to answer: freeing a large one takes longer than a frame.
  void discard(std::shared_ptr<const void> answer);
  // Ends with these workers.
  std::weak_ptr<const void> life() const { return life_; }
  // Questions that are waiting or being answered.
  int busy() const;
  // Questions answered since the start.
  int answered() const { return answered_; }
  // Whether no other one will be answered.
  bool is_exhausted() const { return answered_ >= most_answers_; }
  // The frame that is being drawn, from 1; 0 where there are no frames. Of the thread that draws.
  int frame() const { return frame_; }
  void begin_frame() { ++frame_; }

 private:
  struct Question {
    Cancelled cancelled;
    std::function<void(Readers&)> work;
  };
  void run(WorkKind kind);
  // Frees what was discarded, outside of the lock.
  void free_discarded(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const void> life_ = std::make_shared<const char>();
  std::function<void()> wake_;
  int most_answers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::deque<Question>, 2> waiting_;  // by WorkKind
  std::vector<std::shared_ptr<const void>> discarded_;
  std::vector<std::string> closed_;  // paths, in the order in which they were let go
  int running_ = 0;
  std::atomic<int> answered_ = 0;
  bool stopping_ = false;
  int frame_ = 0;
  std::vector<std::pair<std::thread::id, Cancelled>> current_;
  std::vector<std::thread> threads_;
};

}  // namespace spscope::gui
