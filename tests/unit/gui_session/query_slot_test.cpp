// One question of a view: the newest wins, the old answer stays, and what is cancelled has no answer. Threads are made
// to wait for each other, so no test depends on time.
#include "gui/session/query_slot.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <latch>
#include <thread>

namespace spscope::gui {
namespace {

// What happens on workers, to wait for so many more of it.
class Happened {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
    count_ -= count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// A door that questions wait at until it is opened.
struct Door {
  void pass() {
    came.tell();
    opened.wait();
  }
  void open() { opened.count_down(); }

  Happened came;
  std::latch opened{1};
};

using Function = QuerySlot<int>::Function;

Function gives(int value) {
  return [value](Readers&, const Cancelled&, QueryProgress&) { return value; };
}
Function waits_and_gives(Door& door, int value) {
  return [&door, value](Readers&, const Cancelled&, QueryProgress& progress) {
    progress.fraction = 0.5;
    door.pass();
    return value;
  };
}

class QuerySlotOfWorkers : public ::testing::Test {
 protected:
  // Of a question that comes first.
  void ask_and_await(const std::string& key, Function function) {
    slot_.ask(workers_, key, std::move(function));
    answers_.await(1);
  }

  Door door_;
  Happened answers_;
  QuerySlot<int> slot_;
  Workers workers_{1, [this] { answers_.tell(); }};
};

TEST_F(QuerySlotOfWorkers, GivesTheAnswerOnceForAKey) {
  std::atomic<int> asked = 0;
  for (int frame = 0; frame < 3; ++frame)
    slot_.ask(workers_, "a", [&](Readers&, const Cancelled&, QueryProgress&) { return ++asked; });
  answers_.await(1);
  ASSERT_NE(slot_.value(), nullptr);
  EXPECT_EQ(*slot_.value(), 1);
  EXPECT_TRUE(slot_.current());
  EXPECT_FALSE(slot_.loading());
  EXPECT_EQ(asked, 1);
}

// An old answer, as a table of a million rows, is freed by a worker and not by the thread that draws.
TEST_F(QuerySlotOfWorkers, FreesOldAnswersOnAWorker) {
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
  Workers workers(1, [this] { answers_.tell(); });  // ends before the promises, which it keeps
  QuerySlot<Large> slot;
  slot.ask(workers, "a", [&](Readers&, const Cancelled&, QueryProgress&) { return Large(&first); });
  answers_.await(1);
  ASSERT_NE(slot.value(), nullptr);
  slot.ask(workers, "b", [&](Readers&, const Cancelled&, QueryProgress&) { return Large(&second); });
  answers_.await(1);
  slot.poll();  // takes the new one; what the old one gave may be used until the next frame
  slot.poll();
  EXPECT_NE(first.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(workers.answered(), 2) << "to free is no answer";
}

TEST_F(QuerySlotOfWorkers, KeepsTheOldAnswerUntilTheNewOneIsThere) {
  ask_and_await("a", gives(1));
  ASSERT_NE(slot_.value(), nullptr);
  slot_.ask(workers_, "b", waits_and_gives(door_, 2));
  door_.came.await(1);
  EXPECT_EQ(*slot_.value(), 1);
  EXPECT_FALSE(slot_.current());
  EXPECT_TRUE(slot_.loading());
  EXPECT_EQ(slot_.progress(), 0.5);
  door_.open();
  answers_.await(1);
  EXPECT_EQ(*slot_.value(), 2);
  EXPECT_TRUE(slot_.current());
}

TEST_F(QuerySlotOfWorkers, TheNewestQuestionWinsWhateverEndsFirst) {
  Workers two(2, [this] { answers_.tell(); });
  Cancelled first;
  slot_.ask(two, "old", [&](Readers&, const Cancelled& cancelled, QueryProgress&) {
    first = cancelled;
    door_.pass();
    return 1;
  });
  door_.came.await(1);
  slot_.ask(two, "new", gives(2));
  EXPECT_TRUE(first.is_cancelled()) << "the question before is told that nobody waits for it";
  answers_.await(1);
  EXPECT_EQ(*slot_.value(), 2);
  door_.open();
  answers_.await(1);
  EXPECT_EQ(*slot_.value(), 2);
}

TEST_F(QuerySlotOfWorkers, WaitingQuestionsThatWereReplacedAreNotAnswered) {
  QuerySlot<int> blocker;
  blocker.ask(workers_, "x", waits_and_gives(door_, 0));
  door_.came.await(1);
  std::atomic<int> answered = 0;
  for (int i = 0; i < 10; ++i)
    slot_.ask(workers_, std::to_string(i), [&, i](Readers&, const Cancelled&, QueryProgress&) {
      ++answered;
      return i;
    });
  door_.open();
  answers_.await(11);
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(*slot_.value(), 9);
}

TEST_F(QuerySlotOfWorkers, WhatIsCancelledHasNoAnswerAndCanBeAskedAgain) {
  slot_.ask(workers_, "a", waits_and_gives(door_, 1));
  door_.came.await(1);
  slot_.cancel();
  EXPECT_TRUE(slot_.was_cancelled());
  EXPECT_FALSE(slot_.loading());
  door_.open();
  answers_.await(1);
  EXPECT_EQ(slot_.value(), nullptr);
  slot_.forget();
  ask_and_await("a", gives(3));
  EXPECT_EQ(*slot_.value(), 3);
}

TEST_F(QuerySlotOfWorkers, AnErrorIsSaidAndTheOldAnswerStays) {
  ask_and_await("a", gives(1));
  ASSERT_NE(slot_.value(), nullptr);
  ask_and_await("b", [](Readers&, const Cancelled&, QueryProgress&) -> int {
    throw Error(ErrorCode::kUsage, "no such pass", "choose another");
  });
  ASSERT_NE(slot_.error(), nullptr);
  EXPECT_STREQ(slot_.error()->what(), "no such pass");
  EXPECT_EQ(*slot_.value(), 1);
  ask_and_await("c", gives(2));
  EXPECT_EQ(slot_.error(), nullptr);
  EXPECT_EQ(*slot_.value(), 2);
}

TEST(Workers, EndWhileQuestionsWait) {
  Door door;
  QuerySlot<int> one, other;
  std::atomic<bool> ran = false;
  std::thread opener;
  {
    Workers workers(1, [] {});
    one.ask(workers, "a", waits_and_gives(door, 1));
    door.came.await(1);
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
TEST_F(QuerySlotOfWorkers, ChildrenDoNotKeepReadersBusy) {
  QuerySlot<int> plan, file_export;
  plan.ask(workers_, "plan", waits_and_gives(door_, 0), WorkKind::kChild);
  file_export.ask(workers_, "export", waits_and_gives(door_, 0), WorkKind::kChild);
  door_.came.await(1);
  ask_and_await("view", gives(7));
  ASSERT_NE(slot_.value(), nullptr);
  EXPECT_EQ(*slot_.value(), 7);
  EXPECT_EQ(workers_.busy(), 2);
  door_.open();
  answers_.await(2);
  EXPECT_TRUE(plan.current() && file_export.current());
}

}  // namespace
}  // namespace spscope::gui
