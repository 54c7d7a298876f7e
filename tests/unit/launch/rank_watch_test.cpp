// What a launcher says and keeps of its ranks: processes of this test that stop, go on and die.
#include "backend/launch/rank_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "backend/base/clock.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A collection with two ranks, each inside an op: rank 0 waits for rank 1.
class TwoRanks {
 public:
  TwoRanks() : collection_(folder_ / "out.db", folder_.path().string(), 2, 0) {
    for (int rank = 0; rank < 2; ++rank) pids_[rank] = start(rank);
  }
  ~TwoRanks() {
    for (const int pid : pids_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
  }
  TwoRanks(const TwoRanks&) = delete;
  const CollectingNote& note() const { return collection_.note(); }
  int pid(int rank) const { return pids_[rank]; }
  // SIGUSR1: it has told all it had to, and ends.
  void signal(int rank, int number) const { ::kill(pids_[rank], number); }

 private:
  int start(int rank) const {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const int child = ::fork();
    if (child == 0) {
      NowPageWriter page(note().rank_now(rank), this_process(rank, 1, 1, note().id()));
      page.line(rank, 0).publish(rank == 0 ? LaneNow{LaneState::kWaitingForPeer, 20, 5, RunId{1}, 1, 0, 4096, 5, 9, 0}
                                           : LaneNow{LaneState::kComputing, 11, 4, RunId{1}, kNoPeer, 0, 0, 5, 9, 0});
      sigset_t leave;
      ::sigemptyset(&leave), ::sigaddset(&leave, SIGUSR1), ::sigprocmask(SIG_BLOCK, &leave, nullptr);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      int signal = 0;
      ::sigwait(&leave, &signal);
      page.set_complete();
      ::_exit(0);
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]), ::close(ready[1]);
    return child;
  }
  TemporaryFolder folder_;
  Collection collection_;
  int pids_[2] = {};
};

// Looks for so long, as a launcher does.
void look(RankWatch& watch, double seconds) {
  for (const std::int64_t begin_ns = now_ns(); static_cast<double>(now_ns() - begin_ns) * 1e-9 < seconds;) {
    EXPECT_TRUE(watch.look());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(RankWatch, TellsAStopOnceAndThatItIsOver) {
  const TwoRanks ranks;
  std::vector<std::string> said;
  RankWatch watch(ranks.note(), 60, [&](const std::string& text) { said.push_back(text); });
  look(watch, 0.1);
  EXPECT_THAT(said, IsEmpty());
  ranks.signal(1, SIGSTOP);
  look(watch, 0.3);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("rank 1 is stopped in op 11 (sequence 4, lane 0)"));
  EXPECT_THAT(said[0], HasSubstr("kill -CONT " + std::to_string(ranks.pid(1))));
  ranks.signal(1, SIGCONT);
  look(watch, 3.5);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], HasSubstr("rank 1 goes on after 0."));
  watch.ended({});
  EXPECT_FALSE(watch.cause());
  ASSERT_EQ(watch.incidents().size(), 1u);
  EXPECT_EQ(watch.incidents()[0].kind, IncidentKind::kStopped);
  EXPECT_EQ(watch.incidents()[0].op_id, 11);
  EXPECT_THAT(watch.incidents()[0].message, HasSubstr("it went on after 0."));
}

// The ranks that waited for it have left, and mpirun lets it go on to end it: however long that takes.
TEST(RankWatch, DoesNotSayThatARankGoesOnWhichIsBeingEnded) {
  const TwoRanks ranks;
  std::vector<std::string> said;
  RankWatch watch(ranks.note(), 60, [&](const std::string& text) { said.push_back(text); });
  ranks.signal(1, SIGSTOP);
  look(watch, 0.3);
  ranks.signal(0, SIGUSR1);
  look(watch, 0.1);
  ranks.signal(1, SIGCONT);
  look(watch, 3.5);
  EXPECT_EQ(said.size(), 1u);
  watch.ended({.exit_code = 74});
  ASSERT_TRUE(watch.cause());
  EXPECT_EQ(watch.cause()->trouble, RankTrouble::kStopped);
  EXPECT_EQ(watch.cause()->rank, 1);
  ASSERT_EQ(watch.incidents().size(), 1u);
  EXPECT_THAT(watch.incidents()[0].message, Not(HasSubstr("went on")));
}

// A run that ends well before that is known tells it at its end.
TEST(RankWatch, TellsAtTheEndThatAStopIsOver) {
  const TwoRanks ranks;
  std::vector<std::string> said;
  RankWatch watch(ranks.note(), 60, [&](const std::string& text) { said.push_back(text); });
  ranks.signal(1, SIGSTOP);
  look(watch, 0.3);
  ranks.signal(1, SIGCONT);
  look(watch, 0.1);
  watch.ended({});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], HasSubstr("rank 1 goes on after 0."));
  EXPECT_FALSE(watch.cause());
}

// mpirun ends the others, and its exit code says which signal ended the first.
TEST(RankWatch, KeepsTheFirstThatDiedAndNotThoseThatFollowed) {
  const TwoRanks ranks;
  RankWatch watch(ranks.note(), 60, [](const std::string&) {});
  look(watch, 0.05);
  ranks.signal(1, SIGKILL);
  look(watch, 0.2);
  ranks.signal(0, SIGTERM);
  look(watch, 0.2);
  watch.ended({.exit_code = 137, .signal = SIGKILL});
  ASSERT_TRUE(watch.cause());
  EXPECT_EQ(watch.cause()->rank, 1);
  EXPECT_EQ(watch.cause()->trouble, RankTrouble::kKilled);
  EXPECT_THAT(watch.cause()->message, HasSubstr("rank 1 ended in op 11 (sequence 4, lane 0): its process"));
  EXPECT_THAT(watch.cause()->message, HasSubstr("signal 9 (Killed)"));
  ASSERT_EQ(watch.incidents().size(), 1u);
  EXPECT_EQ(watch.incidents()[0].kind, IncidentKind::kKilled);
}

// Ranks that end with an error, or well, say so themselves.
TEST(RankWatch, KeepsNothingOfRanksThatEndedByThemselves) {
  const TwoRanks ranks;
  for (const int code : {0, 1}) {
    RankWatch watch(ranks.note(), 60, [](const std::string&) {});
    if (code == 1) ranks.signal(0, SIGKILL);
    look(watch, 0.1);
    watch.ended({.exit_code = code});
    EXPECT_FALSE(watch.cause());
    EXPECT_THAT(watch.incidents(), IsEmpty());
  }
}

// When mpirun tells nothing, the rank that went first without having told all it had to is the cause; unless another
// one had ended by itself before, which has mpirun end the rest.
TEST(RankWatch, NamesTheFirstThatWentWhenMpirunHangs) {
  for (const bool leaves : {false, true}) {
    const TwoRanks ranks;
    RankWatch watch(ranks.note(), 60, [](const std::string&) {});
    look(watch, 0.05);
    ranks.signal(1, leaves ? SIGUSR1 : SIGKILL);
    look(watch, 0.2);
    ranks.signal(0, SIGKILL);
    look(watch, 0.2);
    EXPECT_FALSE(watch.ended_well());
    watch.ended({.exit_code = 1, .mpirun_hung = true});
    EXPECT_EQ(watch.cause() ? watch.cause()->rank : -1, leaves ? -1 : 1);
  }
}

// From a host nothing is seen of the processes on others: what mpirun says is kept, and where they were.
TEST(RankWatch, SaysWhatItKnowsOfARankThatDiedOnAnotherHost) {
  const TwoRanks ranks;
  CollectingNote note = ranks.note();
  note.ranks = 4;
  note.elsewhere = {{"b", "/tmp/spscope-part", {2, 3}}};
  rewrite_collecting(note);
  for (const bool local_too : {false, true}) {
    RankWatch watch(ranks.note(), 60, [](const std::string&) {});
    look(watch, 0.05);
    if (local_too) ranks.signal(1, SIGKILL);  // by mpirun, after the other one; or before
    look(watch, 0.2);
    watch.ended({.exit_code = 137, .signal = SIGKILL});
    ASSERT_EQ(watch.incidents().size(), 1u);
    EXPECT_EQ(watch.incidents()[0].kind, IncidentKind::kKilled);
    EXPECT_EQ(watch.incidents()[0].rank, local_too ? 1 : -1);
    EXPECT_THAT(watch.incidents()[0].message, HasSubstr("signal 9 (Killed)"));
    EXPECT_THAT(watch.incidents()[0].message, HasSubstr("those of ranks 2, 3 in \"/tmp/spscope-part\" on host b"));
  }
}

TEST(RankWatch, KnowsRanksThatEndedWellByTheirPages) {
  const TwoRanks ranks;
  RankWatch watch(ranks.note(), 60, [](const std::string&) {});
  look(watch, 0.05);
  for (const int rank : {0, 1}) {
    EXPECT_FALSE(watch.ended_well());
    ranks.signal(rank, SIGUSR1);
    look(watch, 0.2);
  }
  EXPECT_TRUE(watch.ended_well());
  watch.ended({.mpirun_hung = true});
  EXPECT_FALSE(watch.cause());
}

TEST(RankWatch, NamesARankThatIsStillStoppedWhenTheRunFails) {
  const TwoRanks ranks;
  RankWatch watch(ranks.note(), 60, [](const std::string&) {});
  ranks.signal(1, SIGSTOP);
  look(watch, 0.1);
  watch.ended({.exit_code = 74});
  ASSERT_TRUE(watch.cause());
  EXPECT_EQ(watch.cause()->trouble, RankTrouble::kStopped);
  EXPECT_EQ(watch.incidents().size(), 1u);
}

TEST(RankWatch, NamesMpirunWhenItDied) {
  const TwoRanks ranks;
  RankWatch watch(ranks.note(), 60, [](const std::string&) {});
  look(watch, 0.05);
  watch.ended({.signal = SIGKILL, .mpirun_died = true});
  ASSERT_TRUE(watch.cause());
  EXPECT_EQ(watch.cause()->rank, -1);
  EXPECT_EQ(watch.cause()->message, "mpirun was ended by signal 9 (Killed), and with it the ranks");
}

// Nobody does anything: the one that the others wait for is named, with what they wait for.
TEST(RankWatch, GivesUpOnRanksThatAreStuckForGood) {
  const TwoRanks ranks;
  RankWatch watch(
      ranks.note(), 0.1, [](const std::string&) {}, 0.2);
  const std::int64_t begin_ns = now_ns();
  while (watch.look()) {
    ASSERT_LT(now_ns() - begin_ns, 10'000'000'000) << "it never gave up";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(watch.look());
  watch.ended({.exit_code = 143, .signal = SIGTERM});  // so the launcher ended them
  ASSERT_TRUE(watch.cause());
  EXPECT_EQ(watch.cause()->rank, 1);
  EXPECT_EQ(watch.cause()->trouble, RankTrouble::kHung);
  EXPECT_THAT(watch.cause()->message, HasSubstr("rank 1 made no progress for 0."));
  EXPECT_THAT(watch.cause()->message, HasSubstr("; rank 0 waits for 0."));
  EXPECT_THAT(watch.cause()->message, HasSubstr("in op 20 (sequence 5, lane 0, peer rank 1, 4096 bytes)"));
  EXPECT_THAT(watch.incidents(), ElementsAre(*watch.cause()->incident()));
}

}  // namespace
}  // namespace spscope
