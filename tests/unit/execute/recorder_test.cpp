// What an executor tells its recorder is what its timelines say, in the order of each lane.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

struct Call {
  enum Kind { kEnter, kPhase, kWaitsFor, kEnded } kind;
  OpId op;
  OpPhase phase = OpPhase::kWaiting;
  int peer = -1;
  OpTimes times = {};
};

class Listener final : public OpRecorder {
 public:
  void begin_pass(int repeat) noexcept override { repeats.push_back(repeat), open = true; }
  void end_pass() noexcept override { open = false; }
  void fault(const RankFault& fault) noexcept override { faults.push_back(fault); }
  void enter(int rank, int lane, OpId op, std::int64_t) noexcept override { add(rank, lane, {Call::kEnter, op}); }
  void phase(int rank, int lane, OpId op, OpPhase phase, std::int64_t) noexcept override {
    add(rank, lane, {Call::kPhase, op, phase});
  }
  void waits_for(int rank, int lane, OpId op, int peer) noexcept override {
    add(rank, lane, {Call::kWaitsFor, op, OpPhase::kWaiting, peer});
  }
  void ended(int rank, int lane, OpId op, const OpTimes& times) noexcept override {
    add(rank, lane, {Call::kEnded, op, OpPhase::kWaiting, -1, times});
  }

  std::vector<int> repeats;
  bool open = false;
  std::vector<RankFault> faults;
  std::map<int, std::map<std::pair<int, int>, std::vector<Call>>> calls;  // by repeat, by lane

 private:
  void add(int rank, int lane, const Call& call) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(open);
    calls[repeats.back()][{rank, lane}].push_back(call);
  }
  std::mutex mutex_;
};

TEST(Recorder, HearsOfEveryOpOfEveryPass) {
  for (const char* strategy : {"ulysses", "ring"}) {
    const Request request = small_request(4);
    const Plan plan = plan_of(request, strategy);
    Listener listener;
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
        OpId inside = kNone;
        std::vector<OpPhase> phases;
        for (const Call& call : calls) {
          const Op& op = plan.ops[static_cast<std::size_t>(call.op)];
          EXPECT_EQ(std::pair(op.rank, static_cast<int>(plan.post_of(op).lane)), lane);
          if (call.kind == Call::kEnter) {
            EXPECT_EQ(inside, kNone);
            inside = call.op, phases.clear();
          }
          EXPECT_EQ(call.op, inside);
          if (call.kind == Call::kPhase) phases.push_back(call.phase);
          if (call.kind == Call::kWaitsFor) {
            EXPECT_NE(call.peer, op.rank);
          }
          if (call.kind != Call::kEnded) continue;
          inside = kNone, ++ended;
          const bool computes_here = !communicates(plan.kind_of(op));
          EXPECT_EQ(phases, computes_here ? (std::vector{OpPhase::kComputing})
                                          : (std::vector{OpPhase::kPosted, OpPhase::kMoving}));
          if (repeat < 0) continue;
          // Raw times are those of the timeline, all shifted by the same zero.
          const OpTimes& t = result.timelines[static_cast<std::size_t>(repeat)].ops[static_cast<std::size_t>(call.op)];
          if (zero_ns == 0) zero_ns = call.times.post_ns - t.post_ns;
          EXPECT_EQ(call.times.post_ns - t.post_ns, zero_ns);
          EXPECT_EQ(call.times.begin_ns - t.begin_ns, zero_ns);
          EXPECT_EQ(call.times.end_ns - t.end_ns, zero_ns);
        }
        EXPECT_EQ(inside, kNone);
      }
      EXPECT_EQ(ended, plan.ops.size());
    }
  }
}

// A pass that fails ends too, and its last op is one that did not end.
TEST(Recorder, HearsTheEndOfAPassThatFails) {
  const Request request = small_request(4);
  const Plan plan = plan_of(request, "ring");
  Listener listener;
  ExecuteOptions options;
  options.recorder = &listener;
  options.before_op = [&](OpId op, const std::atomic<bool>&) {
    if (plan.ops[static_cast<std::size_t>(op)].rank == 2 && op > 10) throw std::runtime_error("broken");
  };
  EXPECT_THROW(execute(plan, request, generate_activations(request, 1), options), Error);
  EXPECT_FALSE(listener.open);
  bool unfinished = false;
  for (const auto& [lane, calls] : listener.calls[0])
    if (lane.first == 2) unfinished |= calls.back().kind != Call::kEnded;
  EXPECT_TRUE(unfinished);
  ASSERT_EQ(listener.faults.size(), 1u);
  EXPECT_EQ(listener.faults[0].rank, 2);
  EXPECT_FALSE(listener.faults[0].hung);
  EXPECT_EQ(plan.ops[static_cast<std::size_t>(listener.faults[0].op)].rank, 2);
  EXPECT_NE(listener.faults[0].message.find("broken"), std::string::npos);
}

TEST(Recorder, HearsWhichRankHung) {
  const Request request = small_request(4);
  const Plan plan = plan_of(request, "ring");
  Listener listener;
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
