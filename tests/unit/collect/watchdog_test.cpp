// Which rank is to blame, on pages made by hand: the cause comes first, whatever it made others do.
#include "backend/collect/watchdog.h"

#include <gmock/gmock.h>

#include <csignal>

#include "backend/collect/run_watch.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// Processes of one rank with a compute lane and a communication lane each.
class Ranks {
 public:
  explicit Ranks(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      WatchedProcess process;
      process.page.owner = {1000 + rank, 1, 1, rank, 1, 2, {}};
      process.page.lines = {{rank, 0, {}, true}, {rank, 1, {}, true}};
      process.facts = ProcessFacts{'S', 1, 0};
      process.threads = {{1000 + rank, {}}};
      processes.push_back(process);
    }
  }
  LaneNow& lane(int rank, int lane) {
    return processes[static_cast<std::size_t>(rank)].page.lines[static_cast<std::size_t>(lane)].now;
  }
  void compute(int rank, int sequence) {
    lane(rank, 0) = {LaneState::kComputing, 10 * sequence + rank, sequence, RunId{3}, kNoPeer, 0, 0, 5, 40, 0};
  }
  void wait(int rank, int sequence, int peer) {
    lane(rank, 1) = {LaneState::kWaitingForPeer, 10 * sequence + rank, sequence, RunId{3}, peer, 0, 4096, 5, 40, 0};
  }
  ProcessFacts& facts(int rank) { return *processes[static_cast<std::size_t>(rank)].facts; }
  // CPU time of the rank's only thread so far.
  void use(int rank, std::int64_t cpu_ns) {
    facts(rank).cpu_ns = cpu_ns;
    processes[static_cast<std::size_t>(rank)].threads.at(1000 + rank).ran_ns = cpu_ns;
  }

  std::vector<WatchedProcess> processes;
};

// What is found when nothing changes for 10 s but CPU times.
std::vector<RankFinding> after_ten_seconds(Ranks& ranks, const std::vector<double>& cpu_seconds) {
  Watchdog dog(5, [](const LaneNow& now) { return now.peer == kNoPeer ? "attend" : "exchange kv"; });
  EXPECT_TRUE(dog.look(ranks.processes, 0).empty());
  for (std::size_t rank = 0; rank < cpu_seconds.size(); ++rank)
    ranks.use(static_cast<int>(rank), static_cast<std::int64_t>(cpu_seconds[rank] * 1e9));
  return dog.look(ranks.processes, 10 * kSecond);
}

TEST(Watchdog, NamesTheRankThatComputesSlowlyBeforeThoseThatWait) {
  Ranks ranks(4);
  for (int rank : {0, 1, 3}) ranks.wait(rank, 5, 2);
  ranks.compute(2, 4);
  const std::vector<RankFinding> found = after_ten_seconds(ranks, {0.01, 0.01, 9.8, 0.01});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].trouble, RankTrouble::kSlow);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_THAT(found[0].message, HasSubstr("rank 2 computes slowly for 10.0 s in attend op 42 (sequence 4, lane 0)"));
  EXPECT_THAT(found[0].message, HasSubstr("9.8 s of CPU time"));
  EXPECT_FALSE(found[0].incident());
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(found[i].trouble, RankTrouble::kWaiting);
    EXPECT_FALSE(found[i].incident());
  }
  EXPECT_THAT(found[1].message, HasSubstr("exchange kv op 50 (sequence 5, lane 1, peer rank 2, 4096 bytes)"));
}

// Nothing changes but CPU times: those of rank 0, which is inside an op and waits for nobody, count.
TEST(Watchdog, IsQuietWhileNoLaneChangesAndNoneComputes) {
  Ranks ranks(2);
  ranks.compute(0, 3);
  ranks.wait(1, 4, 0);
  Watchdog dog(5);
  const auto quiet_at = [&](int second) {
    dog.look(ranks.processes, second * kSecond);
    return dog.quiet_for(8);
  };
  EXPECT_FALSE(quiet_at(1));
  EXPECT_FALSE(quiet_at(9));
  ranks.use(0, 9 * kSecond);
  EXPECT_FALSE(quiet_at(10)) << "rank 0 computed";
  EXPECT_FALSE(quiet_at(18));
  EXPECT_TRUE(quiet_at(19));
  ranks.wait(1, 5, 0);
  EXPECT_FALSE(quiet_at(20)) << "rank 1 went on";
  ranks.use(1, 9 * kSecond);
  EXPECT_TRUE(quiet_at(29)) << "what one that waits polls does not count";
  ranks.processes.pop_back();
  EXPECT_FALSE(quiet_at(30)) << "a process is gone";
}

TEST(Watchdog, TellsARankThatHangsFromOneThatComputes) {
  Ranks ranks(2);
  ranks.compute(0, 3);
  ranks.wait(1, 4, 0);
  const std::vector<RankFinding> found = after_ten_seconds(ranks, {0.1, 0});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].trouble, RankTrouble::kHung);
  const auto incident = found[0].incident();
  ASSERT_TRUE(incident);
  EXPECT_EQ(*incident, (IncidentRecord{0, 0, 30, RunId{3}, IncidentKind::kHung, found[0].message}));
  EXPECT_THAT(found[1].message, HasSubstr("rank 0 is missing"));
}

// A machine with many more ranks than cores: the rank hardly runs, since it waits for a core.
TEST(Watchdog, ARankThatWaitsForACoreIsSlow) {
  Ranks ranks(1);
  ranks.compute(0, 3);
  Watchdog dog(5);
  EXPECT_TRUE(dog.look(ranks.processes, 0).empty());
  ranks.use(0, kSecond);
  EXPECT_EQ(dog.look(ranks.processes, 10 * kSecond).at(0).trouble, RankTrouble::kHung);
  ranks.processes[0].threads.at(1000).waited_ns = 8 * kSecond;
  EXPECT_EQ(dog.look(ranks.processes, 10 * kSecond).at(0).trouble, RankTrouble::kSlow);
}

// A rank is told by the lane that holds it up, not by the one that waits beside it.
TEST(Watchdog, LooksAtTheLaneThatHoldsTheRankUp) {
  Ranks ranks(1);
  ranks.wait(0, 3, 2);
  ranks.compute(0, 9);
  EXPECT_EQ(after_ten_seconds(ranks, {10}).at(0).lane, 0);
}

TEST(Watchdog, TellsStoppedAndGoneAtOnceAndBeforeTheirConsequences) {
  Ranks ranks(4);
  ranks.wait(0, 5, 3);
  ranks.compute(1, 4);
  ranks.facts(1).state = 'T';
  ranks.compute(2, 6);
  ranks.processes[2].facts.reset();
  ranks.processes[2].signal = SIGKILL;
  ranks.processes[2].full_group = MemoryGroup{"/sys/fs/cgroup/job", 1 << 30, 1};
  ranks.wait(3, 8, 2);
  ranks.processes[3].facts.reset();
  Watchdog dog(5);
  std::vector<RankFinding> found = dog.look(ranks.processes, 0);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].trouble, RankTrouble::kKilled);
  EXPECT_THAT(found[0].message, HasSubstr("rank 2 ended in op 62 (sequence 6, lane 0): its process 1002"));
  EXPECT_THAT(found[0].message, HasSubstr("signal 9"));
  EXPECT_THAT(found[0].message,
              HasSubstr("the memory of its control group \"/sys/fs/cgroup/job\" was full, at 1073741824 bytes"));
  EXPECT_EQ(found[0].incident()->kind, IncidentKind::kKilled);
  EXPECT_EQ(found[1].trouble, RankTrouble::kLost);
  EXPECT_EQ(found[1].incident()->kind, IncidentKind::kLost);
  EXPECT_EQ(found[2].trouble, RankTrouble::kStopped);
  EXPECT_THAT(found[2].message, HasSubstr("kill -CONT 1001"));
  EXPECT_EQ(found[2].incident()->kind, IncidentKind::kStopped);
  ranks.processes[3].page.complete = true;  // it ended by itself
  EXPECT_EQ(Watchdog(5).look(ranks.processes, 0).size(), 2u);
  ranks.processes[3].page.complete = false;
  found = dog.look(ranks.processes, 6 * kSecond);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[3].rank, 0);
  EXPECT_THAT(found[3].message, HasSubstr("rank 3 is missing"));
}

TEST(Watchdog, ForgetsTheWaitWhenALaneGoesOn) {
  Ranks ranks(1);
  ranks.compute(0, 1);
  Watchdog dog(5);
  EXPECT_TRUE(dog.look(ranks.processes, 0).empty());
  EXPECT_EQ(dog.look(ranks.processes, 6 * kSecond).size(), 1u);
  ++ranks.lane(0, 0).sent;
  ++ranks.lane(0, 0).op;
  EXPECT_TRUE(dog.look(ranks.processes, 7 * kSecond).empty());
  EXPECT_TRUE(dog.look(ranks.processes, 11 * kSecond).empty());
  EXPECT_EQ(dog.look(ranks.processes, 13 * kSecond).size(), 1u);
  ranks.lane(0, 0) = LaneNow();  // between ops nothing can hang
  EXPECT_TRUE(dog.look(ranks.processes, 100 * kSecond).empty());
}

// What those who watch a run are told of its events.
TEST(EventsText, SaysWhatIsRecordedWhatIsSafeAndWhatIsLost) {
  WatchedRun run;
  run.committed = 8688;  // a scheduled run: no rank records, and 0 would be wrong
  EXPECT_EQ(run.events_text(), "8,688 events in its files, none lost");
  run.sent = 9000;
  EXPECT_EQ(run.events_text(), "9,000 events recorded, 8,688 in its files, none lost");
  run.events_per_second = 1200;
  run.committed = 9000;
  run.dropped = 3;
  EXPECT_EQ(run.events_text(), "9,000 events recorded (1,200/s), all in its files, 3 lost");
}

}  // namespace
}  // namespace spscope
