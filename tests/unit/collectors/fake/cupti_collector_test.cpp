// The collector cupti on the fake CUPTI of CUDA 11, 12 and 13: every record is an event of its track, with its op and
// without overlap, or a part of one, or counted.
#include "collectors/cupti/collector.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/cupti/op_ids.h"
#include "tests/support/kept_trace.h"
#include "tests/unit/collectors/fake/fake_cupti.h"

namespace spscope::cupti {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr int kEvents = 10, kCalls = 8;  // of kEachKind

class CuptiCollects : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Collector> start(PoolOptions pool = {.buffer_bytes = 32'768, .num_buffers = 128}) {
    return start({}, pool);
  }
  std::unique_ptr<Collector> start(const CollectedProcess& process, PoolOptions pool) {
    return cupti::start(sink_, process,
                        {.library = fake_.path(), .pool = pool, .flush_every = std::chrono::milliseconds(10)});
  }
  // Records that never came to the collector. (The end of a range whose begin was lost is counted on its own track.)
  std::int64_t num_lost() {
    const LedgerRecord ledger = sink_.ledger("overhead of CUPTI");
    return ledger.dropped + ledger.unreadable;
  }
  void expect_no_overlap() {
    for (const KeptTrace::KeptTrack& kept : sink_.tracks()) {
      std::int64_t free_from_ns = 0;
      for (const RingRecord& record : kept.records) {
        if (!kept.track.overlapping) {
          EXPECT_GE(record.span.begin_ns, free_from_ns) << track_text(kept.track) << " slot " << kept.track.slot;
        }
        free_from_ns = next_begin_ns(record.span);
      }
    }
  }
  // Every record that CUPTI made is handed over, or counted in the ledger of a track.
  void expect_all_accounted_for(const Collector& collector) {
    const CollectorCost cost = collector.cost();
    EXPECT_EQ(cost.records + cost.dropped, fake_.made());
    EXPECT_EQ(num_lost(), cost.dropped);
    expect_no_overlap();
  }
  FakeCupti fake_{GetParam()};
  KeptTrace sink_{1 << 16};  // nobody takes records out meanwhile
};

TEST_P(CuptiCollects, EachLaunchIsOneEventWithItsOpOnTheStreamOfItsRank) {
  const std::unique_ptr<Collector> collector = start();
  const std::int64_t begin_ns = now_ns();
  for (int op = 0; op < 100; ++op) {
    collector->begin_launch(3, RunId{9}, op);
    fake_.run(kEachKind, 1);
    collector->end_launch();
  }
  fake_.run(kEachKind, 1);  // for no op
  const std::int64_t end_ns = now_ns() + 100;
  collector->stop();
  expect_all_accounted_for(*collector);
  EXPECT_EQ(collector->cost().dropped, 0);
  EXPECT_EQ(sink_.ledger().stored, 101 * (kEvents + kCalls));

  std::map<std::int64_t, int> kernels_of_op;
  std::set<std::uint32_t> seen;
  for (const KeptTrace::KeptTrack& kept : sink_.tracks()) {
    if (kept.track.kind != TrackKind::kDeviceStream) continue;
    EXPECT_EQ(kept.track.rank, 3);
    for (const RingRecord& record : kept.records) {
      const WorkEvent work = record.work();
      EXPECT_TRUE(seen.insert(work.correlation).second) << "each once";
      EXPECT_EQ(record.run, work.span.op_id == kNone ? kNoRun : RunId{9});
      EXPECT_LE(begin_ns, work.span.begin_ns);
      EXPECT_LE(work.span.end_ns, end_ns);
      const EventCategory category = event_category(work.span.flags);
      EXPECT_EQ(work.bytes, category == EventCategory::kCopy ? 4'096 : category == EventCategory::kKernel ? 0 : 256);
      if (category != EventCategory::kKernel) continue;
      ++kernels_of_op[work.span.op_id];
      EXPECT_EQ(kept.track.name, "stream 7");
      EXPECT_EQ(kept.track.device, "GPU 3");
      EXPECT_EQ(sink_.name_of(work.span.name),
                (std::vector{"attend_mma", "merge_rows", "copy_rows"}[work.correlation % 3]));
      const WorkDetail& what = sink_.detail_of(work.detail);
      EXPECT_EQ(what.grid, (std::array<std::int32_t, 3>{static_cast<std::int32_t>(work.correlation), 2, 1}));
      EXPECT_EQ(what.dynamic_shared_bytes, 65'536);
      EXPECT_EQ(what.stream, 7);
    }
  }
  EXPECT_EQ(kernels_of_op.size(), 101u);
  for (const auto& [op, kernels] : kernels_of_op) EXPECT_EQ(kernels, 3) << "of op " << op;
}

TEST_P(CuptiCollects, WhatIsOfTheHostIsOnTracksOfItsThreads) {
  const std::unique_ptr<Collector> collector = start();
  fake_.run(kEachKind, 20);
  fake_.run({.queries = 3}, 20);
  collector->stop();
  expect_all_accounted_for(*collector);
  EXPECT_EQ(sink_.records("overhead of CUPTI and the driver").size(), 20u);
  EXPECT_EQ(sink_.records("thread " + std::to_string(::gettid()) + ": NVTX").size(), 20u);
  EXPECT_EQ(sink_.records("thread 77: waits").size(), 20u);
  EXPECT_EQ(sink_.records("thread 77: calls").size(), 20u * kCalls) << "the same ones with every CUPTI";
}

TEST_P(CuptiCollects, AProgramThatIsNoRunOfAPlanHasItsCallsWhereTheyCanBeChosen) {
  const std::unique_ptr<Collector> collector = start({.process = "attached"}, {});
  fake_.run(kEachKind, 20);
  collector->stop();
  expect_all_accounted_for(*collector);
  const bool chooses = GetParam() == 13;
  EXPECT_EQ(sink_.records("thread 77: calls").size(), chooses ? 20u * kCalls : 0u);
  EXPECT_EQ(sink_.records(chooses ? "thread 77: waits" : "waits").size(), 20u);
}

TEST_P(CuptiCollects, AClientThatTakesCuptiOverIsNotPassedOverInSilence) {
  for (const bool at_work : {true, false}) {
    fake_.reset("");
    const std::unique_ptr<Collector> collector = start();
    const auto launch = [&](int launches) {
      for (int op = 0; op < launches; ++op) {
        collector->begin_launch(0, RunId{1}, op);
        fake_.run({.launches = 1}, 1);
        collector->end_launch();
      }
    };
    launch(10);
    // Where nothing is at work, no buffer is out when the other client comes.
    if (at_work)
      fake_.run({.unended = 1}, 1);
    else
      while (collector->cost().records < 30) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fake_.take_over();
    launch(100);
    collector->stop();
    EXPECT_EQ(fake_.take_over(), at_work ? 1 : 0) << "our buffer came to the other client";
    EXPECT_THAT(collector->notes(),
                Contains(AllOf(HasSubstr(at_work ? "did not give back 1 buffers" : "nothing of the last 100"),
                               HasSubstr("torch.profiler"), HasSubstr("run without it"))));
  }
}

TEST_P(CuptiCollects, WhatItTookForItselfIsCounted) {
  const std::unique_ptr<Collector> collector =
      start({.buffer_bytes = 4'096, .num_buffers = 2, .overflow_bytes = 1'024, .max_overflow = 4});
  const std::int64_t before = collector->cost().memory_bytes;
  EXPECT_GE(before, RecentCalls::kBytes);
  for (int i = 0; i < 1'000; ++i) {
    collector->begin_launch(0, RunId{1}, 4);
    fake_.run({.launches = 1}, 1);
    collector->end_launch();
  }
  fake_.run({.launches = 1, .unended = 1}, 1'000);  // buffers in which something is at work stay out
  collector->stop();
  EXPECT_THAT(collector->notes(), Contains(AllOf(HasSubstr("buffers more than it may have"),
                                                 HasSubstr("free for the thread that decodes"))));
  const CollectorCost cost = collector->cost();
  EXPECT_GT(cost.callback_ns, 0);
  EXPECT_GT(cost.thread_ns, 0);
  EXPECT_GE(cost.memory_bytes, before + 4'096 + static_cast<std::int64_t>(sizeof(RingRecord))) << "buffers and events";
  expect_all_accounted_for(*collector);
}

TEST_P(CuptiCollects, WhatIsLostIsCountedAndExplained) {
  struct Script {
    const char *settings, *cause, *remedy;
  };
  for (const Script& script : {Script{"drop=7", "CUPTI had no buffer", "a core left free"},
                               Script{"untimed=5", "no times", "leave memory of the GPU free"},
                               Script{"damage=1", "a form that this version", "use a newer one"},
                               Script{"fail=cuptiActivityPushExternalCorrelationId:15", "ops of kernels", "nvidia-smi"},
                               Script{"late=1", "did not give back", "use the newest CUPTI"}}) {
    fake_.reset(script.settings);
    const std::int64_t lost_before = num_lost();
    const std::unique_ptr<Collector> collector = start();
    collector->begin_launch(0, RunId{1}, 4);
    fake_.run(kEachKind, 100);
    const std::string_view settings = script.settings;
    const bool is_late = settings == "late=1", loses = !is_late && !settings.starts_with("fail");
    // Some of it is told while collecting goes on, the rest at the end.
    for (int i = 0; i < 5'000 && loses && num_lost() == lost_before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    fake_.run(kEachKind, 100);
    collector->end_launch();
    collector->stop();
    if (!is_late) {
      EXPECT_EQ(collector->cost().records + collector->cost().dropped, fake_.made()) << script.settings;
      EXPECT_EQ(num_lost() - lost_before, collector->cost().dropped) << script.settings;
    }
    EXPECT_THAT(collector->notes(), Contains(AllOf(HasSubstr(script.cause), HasSubstr(script.remedy))))
        << script.settings;
    fake_.deliver_late();
  }
  EXPECT_GT(sink_.ledger().dropped, 0);
  EXPECT_GT(sink_.ledger().unreadable, 0);
  expect_no_overlap();
}

// CUPTI may hand over what ended a little earlier later on, so nothing is handed on at once.
TEST_P(CuptiCollects, EventsAreHeldUntilAllThatEndedBeforeThemHasCome) {
  const std::unique_ptr<Collector> collector = start();
  fake_.run({.launches = 1, .overheads = 1}, 1);
  const std::int64_t ended_ns = now_ns();
  while (sink_.ledger().stored == 0 && now_ns() - ended_ns < 60'000'000'000)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GT(sink_.ledger().stored, 0) << "before the end";
  EXPECT_GE(now_ns() - ended_ns, 149'000'000);
  collector->stop();
}

TEST_P(CuptiCollects, WhatFindsNoRoomOnItsTrackIsDroppedAndInTheLedgerOnce) {
  KeptTrace small(8);  // nobody takes records out meanwhile
  const std::unique_ptr<Collector> collector =
      cupti::start(small, {}, {.library = fake_.path(), .flush_every = std::chrono::milliseconds(10)});
  EXPECT_EQ(collector->least_events_of_op(), 0) << "there are ops that launch nothing";
  fake_.run({.launches = 1}, 1'000);
  collector->stop();
  const CollectorCost cost = collector->cost();
  EXPECT_EQ(cost.records + cost.dropped, fake_.made());
  EXPECT_GT(cost.dropped, 1'000);
  EXPECT_EQ(cost.dropped, small.ledger().dropped);
  EXPECT_THAT(collector->notes(),
              Contains(AllOf(HasSubstr("full buffer of their row"), HasSubstr("leave a core free"))));
}

INSTANTIATE_TEST_SUITE_P(Cuda, CuptiCollects, testing::Values(11, 12, 13));

TEST(OpIds, SayWhatTheyWereMadeOfAndNothingWhereItDoesNotFit) {
  for (const LaunchedOp& launched :
       {LaunchedOp{0, RunId{1}, 0}, LaunchedOp{65'534, RunId{0xf'ffff}, 0xfff'ffff}, LaunchedOp{7, RunId{300}, 12'345}})
    EXPECT_EQ(launched_op(pushed_id(launched)), launched);
  for (const LaunchedOp& launched : {LaunchedOp{65'535, RunId{1}, 0}, LaunchedOp{0, RunId{0x10'0000}, 0},
                                     LaunchedOp{0, RunId{1}, 0x1000'0000}, LaunchedOp{0, RunId{1}, kNone}})
    EXPECT_EQ(pushed_id(launched), 0u);
  EXPECT_EQ(launched_op(0), std::nullopt);
  EXPECT_EQ(launched_op(1'234), std::nullopt) << "of another program";
}

}  // namespace
}  // namespace spscope::cupti
