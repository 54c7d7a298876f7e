// What a launcher says and keeps of its ranks: processes of this test that stop, go on and die.
#include "backend/launch/rank_watch.h"

#include <gmock/gmock.h>
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

// Two ranks, who watches them, and what was said of them.
struct Watched {
  TwoRanks ranks;
  std::vector<std::string> said;
  RankWatch watch{ranks.note(), 60, [this](const std::string& text) { said.push_back(text); }};

  // Looks for so long, as a launcher does.
  void look(double seconds) {
    for (const std::int64_t begin_ns = now_ns(); static_cast<double>(now_ns() - begin_ns) * 1e-9 < seconds;) {
      EXPECT_TRUE(watch.look());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // After a signal to a rank.
  void look(int rank, int signal, double seconds) {
    ranks.signal(rank, signal);
    look(seconds);
  }
};

// While the run goes on, or at its end when it ends well before that is known.
TEST(RankWatch, TellsAStopOnceAndThatItIsOver) {
  for (const bool known : {true, false}) {
    Watched w;
    w.look(0.1);
    EXPECT_THAT(w.said, IsEmpty());
    w.look(1, SIGSTOP, 0.3);
    ASSERT_EQ(w.said.size(), 1u);
    EXPECT_THAT(w.said[0], HasSubstr("rank 1 is stopped in op 11 (sequence 4, lane 0)"));
    EXPECT_THAT(w.said[0], HasSubstr("kill -CONT " + std::to_string(w.ranks.pid(1))));
    w.look(1, SIGCONT, known ? 3.5 : 0.1);
    EXPECT_EQ(w.said.size(), known ? 2u : 1u);
    w.watch.ended({});
    ASSERT_EQ(w.said.size(), 2u);
    EXPECT_THAT(w.said[1], HasSubstr("rank 1 goes on after 0."));
    EXPECT_FALSE(w.watch.cause());
    ASSERT_EQ(w.watch.incidents().size(), 1u);
    EXPECT_EQ(w.watch.incidents()[0].kind, IncidentKind::kStopped);
    EXPECT_EQ(w.watch.incidents()[0].op_id, 11);
    EXPECT_THAT(w.watch.incidents()[0].message, HasSubstr("it went on after 0."));
  }
}

// The ranks that waited for it have left, and mpirun lets it go on to end it, however long that takes, or it does not.
TEST(RankWatch, NamesAStoppedRankAndDoesNotSayThatItGoesOnToBeEnded) {
  for (const bool continued : {true, false}) {
    Watched w;
    w.look(1, SIGSTOP, 0.3);
    w.look(0, SIGUSR1, 0.1);
    if (continued) w.look(1, SIGCONT, 3.5);
    EXPECT_EQ(w.said.size(), 1u);
    w.watch.ended({.exit_code = 74});
    ASSERT_TRUE(w.watch.cause());
    EXPECT_EQ(w.watch.cause()->trouble, RankTrouble::kStopped);
    EXPECT_EQ(w.watch.cause()->rank, 1);
    ASSERT_EQ(w.watch.incidents().size(), 1u);
    EXPECT_THAT(w.watch.incidents()[0].message, Not(HasSubstr("went on")));
  }
}

// Who ended a run: the first rank that died and not those that mpirun ended after it, whose exit code says which signal
// that was; nobody where ranks ended with an error, or well, which they say themselves. When mpirun tells nothing, it
// is the rank that went first without having told all it had to, unless one had ended by itself before, which has
// mpirun end the rest.
TEST(RankWatch, KeepsTheCauseAlone) {
  struct Run {
    std::vector<std::pair<int, int>> signals;  // rank and signal, one after the other
    LaunchEnd end;
    std::optional<int> cause;               // its rank
    std::vector<std::string> message = {};  // parts of it
  };
  const Run kRuns[] = {{{{1, SIGKILL}, {0, SIGTERM}},
                        {.exit_code = 137, .signal = SIGKILL},
                        1,
                        {"rank 1 ended in op 11 (sequence 4, lane 0): its process", "signal 9 (Killed)"}},
                       {{}, {.exit_code = 0}, {}},
                       {{{0, SIGKILL}}, {.exit_code = 1}, {}},
                       {{{1, SIGKILL}, {0, SIGKILL}}, {.exit_code = 1, .mpirun_hung = true}, 1},
                       {{{1, SIGUSR1}, {0, SIGKILL}}, {.exit_code = 1, .mpirun_hung = true}, {}},
                       {{},
                        {.signal = SIGKILL, .mpirun_died = true},
                        -1,
                        {"mpirun was ended by signal 9 (Killed), and with it the ranks"}}};
  for (const Run& run : kRuns) {
    SCOPED_TRACE(&run - kRuns);
    Watched w;
    w.look(0.05);
    for (const auto& [rank, signal] : run.signals) w.look(rank, signal, 0.2);
    w.watch.ended(run.end);
    const std::optional<RankFinding>& cause = w.watch.cause();
    ASSERT_EQ(cause.has_value(), run.cause.has_value());
    EXPECT_EQ(w.watch.incidents().size(), cause ? 1u : 0u);
    if (!cause) continue;
    EXPECT_EQ(cause->rank, *run.cause);
    // Of which signal is known where mpirun tells it.
    EXPECT_EQ(cause->trouble, run.end.mpirun_hung ? RankTrouble::kLost : RankTrouble::kKilled);
    EXPECT_EQ(w.watch.incidents()[0].kind, run.end.mpirun_hung ? IncidentKind::kLost : IncidentKind::kKilled);
    for (const std::string& part : run.message) EXPECT_THAT(cause->message, HasSubstr(part));
  }
}

// From a host nothing is seen of the processes on others: what mpirun says is kept, and where they were.
TEST(RankWatch, SaysWhatItKnowsOfARankThatDiedOnAnotherHost) {
  for (const bool local_too : {false, true}) {
    Watched w;
    CollectingNote note = w.ranks.note();
    note.ranks = 4;
    note.elsewhere = {{"b", "/tmp/spscope-part", {2, 3}}};
    rewrite_collecting(note);
    w.look(0.05);
    if (local_too) w.ranks.signal(1, SIGKILL);  // by mpirun, after the other one; or before
    w.look(0.2);
    w.watch.ended({.exit_code = 137, .signal = SIGKILL});
    ASSERT_EQ(w.watch.incidents().size(), 1u);
    EXPECT_EQ(w.watch.incidents()[0].kind, IncidentKind::kKilled);
    EXPECT_EQ(w.watch.incidents()[0].rank, local_too ? 1 : -1);
    EXPECT_THAT(w.watch.incidents()[0].message, HasSubstr("signal 9 (Killed)"));
    EXPECT_THAT(w.watch.incidents()[0].message, HasSubstr("those of ranks 2 and 3 in \"/tmp/spscope-part\" on host b"));
  }
}

TEST(RankWatch, KnowsRanksThatEndedWellByTheirPages) {
  Watched w;
  w.look(0.05);
  for (const int rank : {0, 1}) {
    EXPECT_FALSE(w.watch.ended_well());
    w.look(rank, SIGUSR1, 0.2);
  }
  EXPECT_TRUE(w.watch.ended_well());
  w.watch.ended({.mpirun_hung = true});
  EXPECT_FALSE(w.watch.cause());
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
