// Ranks that throw, hang or are interrupted: the first cause is named, everything stops, and the next run works.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/execute/lanes/run_control.h"
#include "kernels/gemm.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::plan_of;
using testing::small_request;

int num_threads() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "Threads:") {
      int threads = 0;
      status >> threads;
      return threads;
    }
  return 0;
}

OpId find_op(const Plan& plan, PostKind kind, int rank) {
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (plan.ops[static_cast<std::size_t>(id)].rank == rank &&
        plan.kind_of(plan.ops[static_cast<std::size_t>(id)]) == kind)
      return id;
  return kNone;
}

struct RingOf4 {
  Request request = small_request(4);
  Plan plan = plan_of(request, "ring");
  Activations activations = generate_activations(request, 1);
};

Error error_of(const RingOf4& ring, const ExecuteOptions& options) {
  const auto failure = failure_of([&] { execute(ring.plan, ring.request, ring.activations, options); });
  return failure ? *failure : Error(ErrorCode::kInternal, "nothing was thrown");
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Failure, ARankThatThrowsIsNamedWithOpPeersSequenceAndBytes) {
  const RingOf4 ring;
  const auto message_of = [&](PostKind kind, int rank) {
    const OpId victim = find_op(ring.plan, kind, rank);
    ExecuteOptions options;
    options.before_op = [&](OpId id, const auto&) {
      if (id == victim) throw std::runtime_error("link down");
    };
    const Error error = error_of(ring, options);
    EXPECT_EQ(error.code(), ErrorCode::kRankFailed);
    return std::string(error.what());
  };
  // 25 tokens of 4 heads of 8 floats, k and v, to one neighbour and from the other.
  EXPECT_THAT(message_of(PostKind::kExchange, 2),
              MatchesRegex("rank 2 failed in exchange op [0-9]+ \\(sequence 0, lane 1, peer ranks 1, 3, "
                           "[0-9]+ bytes\\): link down"));
  EXPECT_THAT(message_of(PostKind::kAttend, 1),
              ::testing::AllOf(HasSubstr("rank 1 failed in attend op"), ::testing::Not(HasSubstr("peer"))));
}

TEST(Failure, AHangingRankIsToldFromThoseThatWaitForIt) {
  const RingOf4 ring;
  const OpId victim = find_op(ring.plan, PostKind::kExchange, 3);
  ExecuteOptions options;
  options.watchdog_seconds = 0.2;
  options.before_op = [&](OpId id, const std::atomic<bool>& stopping) {
    while (id == victim && !stopping) sleep_ms(1);
  };
  const int before = num_threads();
  const Error error = error_of(ring, options);
  EXPECT_EQ(error.code(), ErrorCode::kRankHung);
  EXPECT_THAT(error.what(), HasSubstr("rank 3 made no progress for 0."));
  EXPECT_THAT(error.what(), HasSubstr("in exchange op " + std::to_string(victim) + " (sequence 0, lane 1, peer ranks"));
  EXPECT_THAT(error.what(), HasSubstr(": it computes nothing, its process sleeps; rank "));
  EXPECT_THAT(error.what(), HasSubstr("waits in"));
  EXPECT_EQ(num_threads(), before);
}

// It works in one kernel call for longer than the others' patience: neither its beats nor theirs tell.
TEST(Failure, ARankThatComputesIsNotStoppedHoweverLongItTakes) {
  const RingOf4 ring;
  const OpId victim = find_op(ring.plan, PostKind::kAttend, 2);
  bool stopped = false;
  ExecuteOptions options;
  options.watchdog_seconds = 1;  // of which the look at the process takes half
  options.before_op = [&](OpId id, const std::atomic<bool>& stopping) {
    const std::int64_t begin_ns = now_ns();
    while (id == victim && !stopping && now_ns() - begin_ns < 2'000'000'000) continue;
    if (id == victim) stopped = stopping;
  };
  EXPECT_NO_THROW(execute(ring.plan, ring.request, ring.activations, options));
  EXPECT_FALSE(stopped);
}

// As the lane would say it of itself.
void place(RunControl& control, const Plan& plan, int rank, int lane, OpId op, OpId waits_for) {
  LaneNow now;
  now.state = LaneState::kTransferring;
  now.op = op;
  now.sequence = plan.ops[static_cast<std::size_t>(op)].post;
  now.waits_for = waits_for;
  control.mirror(rank, lane, now, 2, 0);
}

RankFault hang_of(const RunControl& control, const SystemView& system = {}) {
  return control.describe_hang(control.find_stuck(system), 9, system);
}

// What the system knows goes before what lanes look like: a rank whose process is stopped may seem to wait.
TEST(Failure, ALostRankIsNamedBeforeOneThatWaitsForNobody) {
  const RingOf4 ring;
  RunControl control(ring.plan);
  const OpId of_1 = find_op(ring.plan, PostKind::kExchange, 1), of_2 = find_op(ring.plan, PostKind::kExchange, 2),
             of_3 = find_op(ring.plan, PostKind::kAttend, 3);
  place(control, ring.plan, 1, 1, of_1, of_2);
  place(control, ring.plan, 2, 1, of_2, of_1);
  place(control, ring.plan, 3, 0, of_3, kNone);
  SystemView system;
  EXPECT_EQ(hang_of(control, system).rank, 3);
  system.computes = [](std::span<const int> ranks) {
    EXPECT_EQ(std::vector(ranks.begin(), ranks.end()), std::vector{3}) << "1 and 2 wait";
    return std::vector<std::optional<bool>>(ranks.size(), false);
  };
  EXPECT_THAT(hang_of(control, system).message, HasSubstr(": it computes nothing, its process sleeps; rank "));
  system.why_lost = [](int rank) { return rank == 2 ? "its process 7 is stopped" : ""; };
  const RankFault fault = hang_of(control, system);
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.op, of_2);
  EXPECT_TRUE(fault.hung);
  EXPECT_THAT(fault.message, HasSubstr("rank 2 made no progress for 9.0 s in exchange op"));
  EXPECT_THAT(fault.message, HasSubstr(": its process 7 is stopped; rank 1 waits for it in exchange op"));
  // Between two ops of its own it is named all the same.
  system.why_lost = [](int rank) { return rank == 0 ? "its process 5 is stopped" : ""; };
  EXPECT_THAT(hang_of(control, system).message, HasSubstr("rank 0 made no progress for 9.0 s: its process 5"));
}

// A lane's line says at each turn of an op what it does, and every turn is progress.
TEST(RunControl, ALineSaysWhatItsLaneDoes) {
  const RingOf4 ring;
  RunControl control(ring.plan);
  const OpId exchange = find_op(ring.plan, PostKind::kExchange, 1),
             partner = find_op(ring.plan, PostKind::kExchange, 2);
  const int lane = ring.plan.post_of(ring.plan.ops[static_cast<std::size_t>(exchange)]).lane;
  const auto now = [&] { return control.line(1, lane).read(); };
  EXPECT_EQ(now(), LaneNow());
  control.begin_repeat(RunId{7}, 3);
  std::int64_t progress = control.progress();
  const auto expect_progress = [&] {
    EXPECT_GT(control.progress(), progress);
    progress = control.progress();
  };
  control.enter(1, lane, exchange, 100);
  LaneNow expected;
  expected.state = LaneState::kWaitingForOp;
  expected.op = exchange;
  expected.sequence = ring.plan.ops[static_cast<std::size_t>(exchange)].post;
  expected.run = RunId{7};
  expected.repeat = 3;
  expected.peer = kSeveralPeers;
  for (MessageId id : ring.plan.messages_of(ring.plan.ops[static_cast<std::size_t>(exchange)]))
    if (const Message& m = ring.plan.messages[static_cast<std::size_t>(id)]; m.src == 1) expected.bytes += m.bytes;
  expected.begin_ns = 100;
  EXPECT_EQ(now(), expected);
  expect_progress();
  control.turn(1, lane, LaneState::kWaitingForPeer, 150);
  control.begin_wait(1, lane, partner);
  expected.state = LaneState::kWaitingForPeer;
  expected.begin_ns = 150;
  expected.peer = 2;
  expected.waits_for = partner;
  EXPECT_EQ(now(), expected);
  expect_progress();
  control.end_wait(1, lane);
  control.turn(1, lane, LaneState::kTransferring, 200);
  expected.state = LaneState::kTransferring;
  expected.peer = kSeveralPeers;
  expected.waits_for = kNone;
  EXPECT_EQ(now(), expected);
  expect_progress();
  control.beat(1, lane);
  EXPECT_EQ(now(), expected);
  expect_progress();
  control.leave(1, lane, {5, 2}, true);
  expected.state = LaneState::kEndedRepeat;
  expected.op = kNone;
  expected.sent = 5;
  expected.dropped = 2;
  EXPECT_EQ(now(), expected);
  expect_progress();
}

// Which rank a lane waits for, whatever it waits for: the judge follows it.
TEST(RunControl, ALineSaysForWhichRankItsLaneWaits) {
  const RingOf4 ring;
  RunControl control(ring.plan);
  const OpId attend = find_op(ring.plan, PostKind::kAttend, 1), own = find_op(ring.plan, PostKind::kExchange, 1),
             far = find_op(ring.plan, PostKind::kExchange, 2);
  const auto now = [&](int lane) { return control.line(1, lane).read(); };
  control.enter(1, 0, attend, 0);
  EXPECT_EQ(now(0).peer, kNoPeer);
  control.begin_wait(1, 0, far);
  EXPECT_EQ(now(0).state, LaneState::kWaitingForOp);
  EXPECT_EQ(now(0).peer, 2);
  control.end_wait(1, 0);
  EXPECT_EQ(now(0).peer, kNoPeer);
  control.enter(1, 1, own, 0);
  control.begin_wait(1, 1, attend);  // of another lane of its rank
  EXPECT_EQ(now(1).peer, kNoPeer);
  control.end_wait(1, 1);
  EXPECT_EQ(now(1).peer, kSeveralPeers);
  control.turn(1, 1, LaneState::kTransferring, 0);
  control.begin_wait(1, 1, own);  // until its own data was taken
  EXPECT_EQ(now(1).peer, kSeveralPeers);
}

// Another process began to write why the run stops and was killed: this one does not wait for it without end.
TEST(RunControl, AReasonThatIsNeverWrittenIsReplacedByThatOfThisProcess) {
  const RingOf4 ring;
  std::vector<OpFlags> ops(ring.plan.ops.size());
  std::vector<NowLine> lines(static_cast<std::size_t>(ring.plan.ranks * ring.plan.lanes));
  StopRecord record;
  record.state = 1;
  ControlBoard board;
  board.ops = ops;
  board.stop = &record;
  for (NowLine& line : lines) {
    line.publish(LaneNow());
    board.lines.push_back(&line);
    board.writable.push_back(&line);
  }
  RunControl control(ring.plan, board);
  EXPECT_FALSE(control.await_reason(0)) << "nothing was stopped";
  control.stop({ErrorCode::kRankFailed, {1, 0, kNone, false, "link down"}});
  control.stop({ErrorCode::kInterrupted, {-1, -1, kNone, false, "a consequence"}});
  std::optional<StopReason> reason = control.await_reason(0.05);
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, ErrorCode::kRankFailed);
  EXPECT_EQ(reason->fault.message, "link down");
  record.code = static_cast<std::int32_t>(ErrorCode::kRankHung);
  record.rank = 2;
  record.state = 2;
  reason = control.await_reason(0);
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->fault.rank, 2) << "the first reason, once it is written";
}

// After a stop the line may lie in memory of a recorder that is gone.
TEST(RunControl, NoLineIsWrittenAfterAStop) {
  const RingOf4 ring;
  RunControl control(ring.plan);
  const OpId attend = find_op(ring.plan, PostKind::kAttend, 1), far = find_op(ring.plan, PostKind::kExchange, 2);
  control.enter(1, 0, attend, 0);
  const std::uint64_t generation = control.line(1, 0).generation();
  control.stop({ErrorCode::kInterrupted, {}});
  EXPECT_THROW(control.wait_ended(1, 0, far), StopLane);
  EXPECT_THROW(control.begin_wait(1, 0, far), StopLane);
  EXPECT_THROW(control.end_wait(1, 0), StopLane);
  EXPECT_EQ(control.line(1, 0).generation(), generation);
}

TEST(Failure, ARankThatDoesNotComeBackIsLeftBehindAfterTheGracePeriod) {
  const RingOf4 ring;
  const OpId victim = find_op(ring.plan, PostKind::kAttend, 0);
  ExecuteOptions options;
  options.watchdog_seconds = 0.1;
  options.grace_seconds = 0.1;
  options.before_op = [victim](OpId id, const auto&) {
    if (id == victim) sleep_ms(1500);  // deaf to the stop
  };
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of(ring, options);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1400));
  EXPECT_EQ(error.code(), ErrorCode::kRankHung);
  EXPECT_THAT(error.what(), HasSubstr("rank 0 made no progress"));
  sleep_ms(1500);  // it wakes, finds the run stopped and its memory in place
}

// Its ops take longer than the watchdog's patience together, and none of them does alone.
TEST(Failure, ASlowRankIsNoHang) {
  const RingOf4 ring;
  ExecuteOptions options;
  options.watchdog_seconds = 0.4;
  options.before_op = [](OpId id, const auto&) {
    if (id % 3 == 0) sleep_ms(150);
  };
  EXPECT_NO_THROW(execute(ring.plan, ring.request, ring.activations, options));
}

TEST(Failure, AnInterruptStopsTheRun) {
  const RingOf4 ring;
  std::atomic<bool> interrupt{false};
  ExecuteOptions options;
  options.interrupt = &interrupt;
  options.repeats = 1000000;
  std::thread user([&] {
    sleep_ms(60);
    interrupt = true;
  });
  const Error error = error_of(ring, options);
  user.join();
  EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
}

TEST(Failure, NothingIsLeftRunningAndTheNextRunWorks) {
  const RingOf4 ring;
  const int before = num_threads();
  for (OpId victim = 0; victim < static_cast<OpId>(ring.plan.ops.size()); ++victim) {
    ExecuteOptions options;
    options.before_op = [&](OpId id, const auto&) {
      if (id == victim) throw std::runtime_error("no");
    };
    EXPECT_EQ(error_of(ring, options).code(), ErrorCode::kRankFailed) << victim;
  }
  EXPECT_EQ(num_threads(), before);
  EXPECT_EQ(testing::run_and_check(ring.plan, ring.request).verdict, Verdict::kPassed);
}

TEST(Failure, ActivationsOfAnotherWorkloadAreRefused) {
  const RingOf4 ring;
  Request longer = ring.request;
  longer.inner_tokens = 101;
  EXPECT_THROW(execute(ring.plan, ring.request, generate_activations(longer, 1)), Error);
}

TEST(Failure, WhatCannotRunIsRefusedBeforeItStartsWithAllReasons) {
  Request request = small_request(2);
  request.ffn = 32;
  request.kernels.push_back({"w_in", true, Axis::kFfn, Axis::kFfn, TensorSet{Tensor::kF}});
  PlanBuilder b(request);
  const Placement rows = b.place([&](int rank) {
    return BoxList{{request.all_columns(Axis::kFfn), request.all_outer(), b.sets().span(rank * 50, rank * 50 + 50)}};
  });
  const ValueId x = b.input(TensorSet{Tensor::kF}, rows, Axis::kFfn);
  const ValueId y = b.linear(x, "w_in"), z = b.local("swirl", {&y, 1});
  b.output(b.local("swirl", {&z, 1}), rows);
  const Plan plan = b.take();
  ExecuteOptions options;
  options.threads_per_rank = 2;
  const std::vector<Problem> problems = cannot_execute(plan, options);
  EXPECT_EQ(problems.size(), 5u);  // threads, two kernels, the input, the output
  std::string all;
  for (const Problem& problem : problems) all += problem.message + "\n";
  for (const char* part : {"2 threads a rank", "w_in", "swirl"}) EXPECT_THAT(all, HasSubstr(part));
  EXPECT_THROW(execute(plan, request, Activations(), options), Error);
}

}  // namespace
}  // namespace spscope
