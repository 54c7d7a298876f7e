// One question of a view: the newest wins, the old answer stays, and what is cancelled has no answer. Threads are made
// to wait for each other, so no test depends on time.
#include "gui/session/query_slot.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <future>
#include <optional>
#include <thread>

#include "gui/launch/child.h"

namespace spscope::gui {
namespace {

// A door that questions wait at until it is opened.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  // Until so many questions came here.
  void await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

// The number of answers that came, to wait for.
class Woken {
 public:
  void wake() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

QuerySlot<int>::Function gives(int value) {
  return [value](Readers&, const Cancelled&, QueryProgress&) { return value; };
}

TEST(QuerySlot, GivesTheAnswerOnceForAKey) {
  Woken woken;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> slot;
  std::atomic<int> asked = 0;
  for (int frame = 0; frame < 3; ++frame)
    slot.ask(workers, "a", [&](Readers&, const Cancelled&, QueryProgress&) { return ++asked; });
  woken.await(1);
  ASSERT_NE(slot.value(), nullptr);
  EXPECT_EQ(*slot.value(), 1);
  EXPECT_TRUE(slot.current());
  EXPECT_FALSE(slot.loading());
  EXPECT_EQ(asked, 1);
}

// An old answer, as a table of a million rows, is freed by a worker and not by the thread that draws.
TEST(QuerySlot, FreesOldAnswersOnAWorker) {
  struct Large {
    explicit Large(std::promise<std::thread::id>* told) : freed_by(told) {}
    Large(const Large&) = delete;
    Large& operator=(const Large&) = delete;
    Large(Large&& other) noexcept : freed_by(std::exchange(other.freed_by, nullptr)) {}
    ~Large() {
      if (freed_by != nullptr) freed_by->set_value(std::this_thread::get_id());
    }
    std::promise<std::thread::id>* freed_by;
  };
  std::promise<std::thread::id> first, second;
  Woken woken;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<Large> slot;
  slot.ask(workers, "a", [&](Readers&, const Cancelled&, QueryProgress&) { return Large(&first); });
  woken.await(1);
  ASSERT_NE(slot.value(), nullptr);
  slot.ask(workers, "b", [&](Readers&, const Cancelled&, QueryProgress&) { return Large(&second); });
  woken.await(2);
  slot.poll();  // takes the new one; what the old one gave may be used until the next frame
  slot.poll();
  EXPECT_NE(first.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(workers.answered(), 2) << "to free is no answer";
}

TEST(QuerySlot, KeepsTheOldAnswerUntilTheNewOneIsThere) {
  Woken woken;
  Door door;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> slot;
  slot.ask(workers, "a", gives(1));
  woken.await(1);
  ASSERT_NE(slot.value(), nullptr);
  slot.ask(workers, "b", [&](Readers&, const Cancelled&, QueryProgress& progress) {
    progress.fraction = 0.5;
    door.pass();
    return 2;
  });
  door.await(1);
  EXPECT_EQ(*slot.value(), 1);
  EXPECT_FALSE(slot.current());
  EXPECT_TRUE(slot.loading());
  EXPECT_EQ(slot.progress(), 0.5);
  door.open();
  woken.await(2);
  EXPECT_EQ(*slot.value(), 2);
  EXPECT_TRUE(slot.current());
}

TEST(QuerySlot, TheNewestQuestionWinsWhateverEndsFirst) {
  Woken woken;
  Door door;
  Workers workers(2, [&] { woken.wake(); });
  QuerySlot<int> slot;
  Cancelled first;
  slot.ask(workers, "old", [&](Readers&, const Cancelled& cancelled, QueryProgress&) {
    first = cancelled;
    door.pass();
    return 1;
  });
  door.await(1);
  slot.ask(workers, "new", gives(2));
  EXPECT_TRUE(first.is_cancelled()) << "the question before is told that nobody waits for it";
  woken.await(1);
  EXPECT_EQ(*slot.value(), 2);
  door.open();
  woken.await(2);
  EXPECT_EQ(*slot.value(), 2);
}

TEST(QuerySlot, WaitingQuestionsThatWereReplacedAreNotAnswered) {
  Woken woken;
  Door door;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> blocker, slot;
  blocker.ask(workers, "x", [&](Readers&, const Cancelled&, QueryProgress&) {
    door.pass();
    return 0;
  });
  door.await(1);
  std::atomic<int> answered = 0;
  for (int i = 0; i < 10; ++i)
    slot.ask(workers, std::to_string(i), [&, i](Readers&, const Cancelled&, QueryProgress&) {
      ++answered;
      return i;
    });
  door.open();
  woken.await(11);
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(*slot.value(), 9);
}

TEST(QuerySlot, WhatIsCancelledHasNoAnswerAndCanBeAskedAgain) {
  Woken woken;
  Door door;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> slot;
  slot.ask(workers, "a", [&](Readers&, const Cancelled&, QueryProgress&) {
    door.pass();
    return 1;
  });
  door.await(1);
  slot.cancel();
  EXPECT_TRUE(slot.was_cancelled());
  EXPECT_FALSE(slot.loading());
  door.open();
  woken.await(1);
  EXPECT_EQ(slot.value(), nullptr);
  slot.forget();
  slot.ask(workers, "a", gives(3));
  woken.await(2);
  EXPECT_EQ(*slot.value(), 3);
}

TEST(QuerySlot, AnErrorIsSaidAndTheOldAnswerStays) {
  Woken woken;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> slot;
  slot.ask(workers, "a", gives(1));
  woken.await(1);
  ASSERT_NE(slot.value(), nullptr);
  slot.ask(workers, "b", [](Readers&, const Cancelled&, QueryProgress&) -> int {
    throw Error(ErrorCode::kUsage, "no such pass", "choose another");
  });
  woken.await(2);
  ASSERT_NE(slot.error(), nullptr);
  EXPECT_STREQ(slot.error()->what(), "no such pass");
  EXPECT_EQ(*slot.value(), 1);
  slot.ask(workers, "c", gives(2));
  woken.await(3);
  EXPECT_EQ(slot.error(), nullptr);
  EXPECT_EQ(*slot.value(), 2);
}

TEST(QuerySlot, WorkersEndWhileQuestionsWait) {
  Door door;
  QuerySlot<int> one, other;
  std::atomic<bool> ran = false;
  std::thread opener;
  {
    Workers workers(1, [] {});
    one.ask(workers, "a", [&](Readers&, const Cancelled&, QueryProgress&) {
      door.pass();
      return 1;
    });
    door.await(1);
    other.ask(workers, "b", [&](Readers&, const Cancelled&, QueryProgress&) {
      ran = true;
      return 2;
    });
    opener = std::thread([&] {
      while (!one.was_cancelled()) std::this_thread::yield();
      door.open();
    });
  }
  opener.join();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(other.was_cancelled());
}

// However many programs are waited for, the only thread that reads is free.
TEST(Workers, ChildrenDoNotKeepReadersBusy) {
  Woken woken;
  Door door;
  Workers workers(1, [&] { woken.wake(); });
  QuerySlot<int> plan, file_export, view;
  const auto waits = [&door](Readers&, const Cancelled&, QueryProgress&) {
    door.pass();
    return 0;
  };
  plan.ask(workers, "plan", waits, WorkKind::kChild);
  file_export.ask(workers, "export", waits, WorkKind::kChild);
  door.await(1);
  view.ask(workers, "view", gives(7));
  woken.await(1);
  ASSERT_NE(view.value(), nullptr);
  EXPECT_EQ(*view.value(), 7);
  EXPECT_EQ(workers.busy(), 2);
  door.open();
  woken.await(3);
  EXPECT_TRUE(plan.current() && file_export.current());
}

// What closing the window does: a program that is waited for ends, and nobody waits for its own end.
TEST(Workers, TheirEndStopsAChild) {
  Door door;
  std::optional<ChildEnd> end;
  {
    Workers workers(1, [] {});
    const Cancelled cancelled;
    workers.post(
        cancelled,
        [&](Readers&) {
          door.pass();
          end = run_child({"sleep", "100"}, cancelled).end;
        },
        WorkKind::kChild);
    door.await(1);
    door.open();
  }
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM);
}

}  // namespace
}  // namespace spscope::gui
