// What an executor tells its recorder is what its timelines say, in the order of each lane.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "backend/plan/op_bytes.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

struct Call {
  OpId op;
  OpTimes times;
  LaneNow now;  // on the lane's line when it said so
};

// Has lines for the first `lanes` lanes of each rank; the executor keeps the others itself.
class Listener final : public OpRecorder {
 public:
  explicit Listener(int ranks, int lanes = 1)
      : lanes_(lanes), lines_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(lanes)) {
    for (NowLine& line : lines_) line.publish({.sent = 40});
  }
  void begin_repeat(int repeat) noexcept override { repeats.push_back(repeat), open = true; }
  void end_repeat() noexcept override { open = false; }
  void fault(const RankFault& fault) noexcept override { faults.push_back(fault); }
  RunId run() const noexcept override { return RunId{9}; }
  NowLine* line(int rank, int lane) noexcept override {
    return lane < lanes_ ? &lines_[static_cast<std::size_t>(rank * lanes_ + lane)] : nullptr;
  }
  std::string page_path() const override { return ""; }
  EventCounts ended(int rank, int lane, OpId op, const OpTimes& times) noexcept override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(open);
    NowLine* const mine = line(rank, lane);
    calls[repeats.back()][{rank, lane}].push_back({op, times, mine != nullptr ? mine->read() : LaneNow()});
    return {40 + static_cast<std::int64_t>(calls[repeats.back()][{rank, lane}].size()), 1};
  }

  std::vector<int> repeats;
  bool open = false;
  std::vector<RankFault> faults;
  std::map<int, std::map<std::pair<int, int>, std::vector<Call>>> calls;  // by repeat, by lane

 private:
  const int lanes_;
  std::mutex mutex_;
  std::vector<NowLine> lines_;
};

// With lines for the compute lane only, and for all lanes.
class RecorderLines : public ::testing::TestWithParam<std::tuple<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(All, RecorderLines,
                         ::testing::Combine(::testing::Values("ulysses", "ring"), ::testing::Values(1, 2)));

TEST_P(RecorderLines, HaveEveryOpOfEveryPass) {
  const auto [strategy, lines] = GetParam();
  const Request request = small_request(4);
  const Plan plan = plan_of(request, strategy);
  ASSERT_EQ(plan.lanes, 2);
  Listener listener(4, lines);
  ExecuteOptions options;
  options.repeats = 2;
  options.warmup = 1;
  options.recorder = &listener;
  const ExecuteResult result = execute(plan, request, generate_activations(request, 1), options);
  EXPECT_EQ(listener.repeats, (std::vector<int>{-1, 0, 1}));
  EXPECT_FALSE(listener.open);
  for (const auto& [repeat, lanes] : listener.calls) {
    std::size_t ended = 0;
    std::int64_t zero_ns = 0;
    for (const auto& [lane, calls] : lanes) {
      PostId last = -1;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const Call& call = calls[i];
        const Op& op = plan.ops[static_cast<std::size_t>(call.op)];
        EXPECT_EQ(std::pair(op.rank, static_cast<int>(plan.post_of(op).lane)), lane);
        EXPECT_GT(op.post, last);
        last = op.post, ++ended;
        if (lane.second < lines) {
          const bool computes = lane.second == 0;
          const OpBytes bytes = op_bytes(plan, op);
          EXPECT_EQ(call.now.op, call.op);
          EXPECT_EQ(call.now.sequence, op.post);
          EXPECT_EQ(call.now.state, computes ? LaneState::kComputing : LaneState::kTransferring);
          EXPECT_EQ(call.now.run, RunId{9});
          EXPECT_EQ(call.now.repeat, repeat);
          EXPECT_EQ(call.now.begin_ns, computes ? call.times.begin_ns : call.times.post_ns);
          EXPECT_EQ(call.now.waits_for, kNone);
          EXPECT_EQ(call.now.peer, computes ? kNoPeer : bytes.peer >= 0 ? bytes.peer : kSeveralPeers);
          EXPECT_EQ(call.now.bytes, computes ? 0 : bytes.sent);
          // Counts are those of the call before; the first one of all found them on the line.
          const bool first = repeat < 0 && i == 0;
          if (i > 0 || first) {
            EXPECT_EQ(call.now.sent, 40 + static_cast<std::int64_t>(i));
          }
        }
        if (repeat < 0) continue;
        // Raw times are those of the timeline, all shifted by the same zero.
        const OpTimes& t = result.timelines[static_cast<std::size_t>(repeat)].ops[static_cast<std::size_t>(call.op)];
        if (zero_ns == 0) zero_ns = call.times.post_ns - t.post_ns;
        EXPECT_EQ(call.times.post_ns - t.post_ns, zero_ns);
        EXPECT_EQ(call.times.begin_ns - t.begin_ns, zero_ns);
        EXPECT_EQ(call.times.end_ns - t.end_ns, zero_ns);
      }
      if (lane.second < lines) {
        const LaneNow now = listener.line(lane.first, lane.second)->read();
        EXPECT_EQ(now.state, LaneState::kEndedRepeat);
        EXPECT_FALSE(now.inside_op());
        EXPECT_EQ(now.sent, 40 + static_cast<std::int64_t>(calls.size()));
        EXPECT_EQ(now.dropped, 1);
      }
    }
    EXPECT_EQ(ended, plan.ops.size());
  }
}

TEST(Recorder, HearsWhichRankHung) {
  const Request request = small_request(4);
  const Plan plan = plan_of(request, "ring");
  Listener listener(4);
  ExecuteOptions options;
  options.recorder = &listener;
  options.watchdog_seconds = 0.2;
  options.before_op = [&](OpId op, const std::atomic<bool>& stopping) {
    const bool hangs = plan.ops[static_cast<std::size_t>(op)].rank == 1 && op > 10;
    while (hangs && !stopping) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(execute(plan, request, generate_activations(request, 1), options), Error);
  ASSERT_EQ(listener.faults.size(), 1u);
  EXPECT_TRUE(listener.faults[0].hung);
  EXPECT_EQ(listener.faults[0].rank, 1);
  EXPECT_FALSE(listener.open);
}

}  // namespace
}  // namespace spscope
