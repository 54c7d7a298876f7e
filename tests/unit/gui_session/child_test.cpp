// Children of the window against a shell that does what the test says.
#include "gui/launch/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "backend/base/error.h"
#include "backend/base/process.h"
#include "gui/launch/run_queue.h"

namespace spscope::gui {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

// Until it holds; a minute is far more than any machine takes.
bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool ended(Child& child) {
  return soon([&] {
    child.poll();
    return child.end().has_value();
  });
}

TEST(Child, SaysWhatItWroteAndHowItEnded) {
  Child child(shell("echo result; echo trouble >&2; exit 3"));
  ASSERT_TRUE(ended(child));
  EXPECT_EQ(child.output(), "result\n");
  EXPECT_EQ(child.errors(), "trouble\n");
  EXPECT_EQ(child.end()->code, 3);
  EXPECT_EQ(child.end()->signal, 0);
}

TEST(Child, OutputComesWhileItRuns) {
  Child child(shell("echo first; exec sleep 100"));
  EXPECT_TRUE(soon([&] {
    child.poll();
    return child.output() == "first\n";
  }));
  EXPECT_FALSE(child.end());
  child.signal(SIGTERM);
  ASSERT_TRUE(ended(child));
  EXPECT_EQ(child.end()->signal, SIGTERM);
  EXPECT_EQ(child.end()->code, 128 + SIGTERM);
}

TEST(Child, NobodyHasToReadWhatItWrites) {  // a pipe would be full after 64 KiB
  Child child(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 0"));
  ASSERT_TRUE(ended(child));
  EXPECT_EQ(child.output().size(), 3'000'000U);
  EXPECT_EQ(child.errors().size(), 3'000'000U);
}

TEST(Child, IsInAProcessGroupOfItsOwnAndIsWaitedFor) {
  pid_t pid = 0;
  {
    Child child(shell("exec sleep 100"));
    pid = child.pid();
    EXPECT_EQ(::getpgid(pid), pid);
    child.signal(SIGTERM);
    ASSERT_TRUE(ended(child));
  }
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_FALSE(read_process(pid));
}

TEST(Child, GoesOnWhenNobodyWaitsForIt) {
  const std::string file = ::testing::TempDir() + "/child-goes-on";
  pid_t pid = 0;
  {
    const Child child(shell("sleep 0.2; echo said && echo trouble >&2 && echo heard >'" + file + "'"));
    pid = child.pid();
  }
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);  // what it wrote after the window had let it go did not end it
  std::ifstream stream(file);
  std::string word;
  EXPECT_TRUE(stream >> word);
  EXPECT_EQ(word, "heard");
  std::filesystem::remove(file);
}

TEST(Child, SignalsThatTheWindowIgnoresReachIt) {
  const auto before = ::signal(SIGTERM, SIG_IGN);
  Child child(shell("exec sleep 100"));
  ::signal(SIGTERM, before);
  child.signal(SIGTERM);
  ASSERT_TRUE(ended(child));
  EXPECT_EQ(child.end()->signal, SIGTERM);
}

TEST(Child, AProgramThatIsNotThereIsAnError) {
  try {
    Child child({"/no/such/program"});
    FAIL() << "it was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kLaunch);
    EXPECT_NE(std::string(error.what()).find("/no/such/program"), std::string::npos);
  }
}

// As at the end of the window, which gives up all questions.
TEST(Child, AQuestionThatIsGivenUpStopsItsChild) {
  const Cancelled cancelled = CancelToken();
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancelled.cancel();
  });
  const ChildResult result = run_child(shell("exec sleep 100"), cancelled);
  user.join();
  EXPECT_EQ(result.end.signal, SIGTERM);
}

TEST(Child, LastWordsAreThoseBesideProgress) {
  EXPECT_EQ(last_words("a\n{\"phase\":\"run\"}\nb\n\nc\n", 2), "b\nc");
  EXPECT_EQ(last_words("", 3), "");
}

bool over(RunQueue& queue, int number) {
  return soon([&] {
    queue.poll();
    const QueuedRun& run = *queue.find(number);
    return !run.goes_on() && run.state != RunState::kWaiting;
  });
}

TEST(RunQueue, OneAfterTheOther) {
  RunQueue queue;
  const int first = queue.add("first", shell("echo one; sleep 0.2"), ""),
            second = queue.add("second", shell("echo two"), "");
  queue.poll();
  queue.poll();
  EXPECT_EQ(queue.find(first)->state, RunState::kRunning);
  EXPECT_EQ(queue.find(second)->state, RunState::kWaiting);
  ASSERT_TRUE(over(queue, second));
  EXPECT_EQ(queue.find(first)->state, RunState::kDone);
  EXPECT_EQ(queue.find(first)->printed, "one\n");
  EXPECT_EQ(queue.find(second)->printed, "two\n");
}

TEST(RunQueue, AWaitingRunIsCancelledWithoutAChild) {
  RunQueue queue;
  const int first = queue.add("first", shell("exec sleep 100"), ""),
            second = queue.add("second", shell("echo two"), "");
  queue.poll();
  queue.stop(second);
  EXPECT_EQ(queue.find(second)->state, RunState::kCancelled);
  queue.stop(first);
  EXPECT_EQ(queue.find(first)->state, RunState::kStopping);
  ASSERT_TRUE(over(queue, first));
  EXPECT_EQ(queue.find(first)->state, RunState::kStopped);
  EXPECT_EQ(queue.find(first)->why.find("it was ended by signal 15"), 0U) << queue.find(first)->why;
  queue.poll();
  EXPECT_FALSE(queue.busy());
}

TEST(RunQueue, ProgressAndTheReasonOfAFailureComeFromItsLines) {
  RunQueue queue;
  const int number = queue.add("run", shell(R"(
    echo 'a note' >&2
    echo '{"phase":"run","label":"ring r4","strategy":"ring","strategy_number":2,"strategies":3,"layer":1,"layers":4,"done":5,"total":12,"elapsed_s":1.5,"eta_s":2.5}' >&2
    echo '{"phase":"done","done":5,"total":12,"exit_code":1,"failure":{"code":"SPS-123","message":"the run was stopped by SIGTERM","hint":"run it again"}}' >&2
    exit 1)"),
                               "");
  ASSERT_TRUE(over(queue, number));
  const QueuedRun& run = *queue.find(number);
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_EQ(run.said, "a note");
  EXPECT_EQ(run.why, "SPS-123: the run was stopped by SIGTERM");
  EXPECT_EQ(run.hint, "run it again");
  EXPECT_EQ(run.progress->exit_code, 1);
}

TEST(RunQueue, ASecondStopIsTakenASecondAfterTheFirst) {
  RunQueue queue;
  const int number = queue.add("deaf", shell("trap : TERM; echo ready; while :; do sleep 0.05; done"), "");
  ASSERT_TRUE(soon([&] {
    queue.poll();
    return queue.find(number)->printed == "ready\n";
  }));
  queue.stop(number);
  const QueuedRun& run = *queue.find(number);
  EXPECT_FALSE(run.can_stop_now(run.stop_asked_ns));
  EXPECT_TRUE(run.can_stop_now(run.stop_asked_ns + 1'100'000'000));
  queue.stop(number);  // too early: nothing is sent
  queue.poll();
  EXPECT_EQ(run.state, RunState::kStopping);
  const std::vector<int> children = children_of(::getpid());
  ASSERT_EQ(children.size(), 1U);
  ::kill(children[0], SIGKILL);
  ASSERT_TRUE(over(queue, number));
  EXPECT_EQ(run.end->signal, SIGKILL);
}

TEST(RunQueue, LinesOfProgressReadAsTheyWereSaid) {
  const std::string said =
      R"({"phase":"run","strategy":"ring","label":"ring r4","strategy_number":2,"strategies":3,"layer":1,"layers":4,)"
      R"("denoise_step":2,"denoise_steps":5,"warmup":1,"warmups":2,"repeat":3,"repeats":7,"ranks_measured":6,)"
      R"("ranks_to_measure":8,"done":5,"total":60,"elapsed_s":1.5,"eta_s":2.5,"shards":4})";
  EXPECT_EQ(progress_json(progress_of(*Json::parse(said))).dump(), said);
}

}  // namespace
}  // namespace spscope::gui
