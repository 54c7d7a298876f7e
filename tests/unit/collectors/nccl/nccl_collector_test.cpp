// The collector on a fake NCCL in each version of the interface: each operation is handed over once with its facts and
// ends with its last child, or is counted.
#include "collectors/nccl/nccl_collector.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/nccl/operations.h"
#include "tests/fake_nccl/fake_device.h"
#include "tests/support/kept_trace.h"

namespace spscope::nccl {
namespace {

using fake_nccl::DeviceTimer;
using fake_nccl::FakeDevice;
using fake_nccl::FakeNccl;
using fake_nccl::Work;
using testing::HasSubstr;

constexpr std::uint64_t kHash = 0xabcdef0123456789;
constexpr const char* kTrack = "NCCL 0xabcdef0123456789";

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A device whose timer is the host's clock.
std::uint64_t timer() { return static_cast<std::uint64_t>(now_ns()); }

bool sanitized_by_thread() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}

class NcclVersions : public testing::TestWithParam<int> {
 protected:
  ~NcclVersions() override { nccl_.finalize(context_); }
  // The operations of the communicator.
  std::vector<KeptTrace::Kept> stop_and_take() {
    collector_->stop();
    EXPECT_TRUE(trace_.clocks().empty()) << "times are on the raw clock";
    std::vector<KeptTrace::Kept> kept = trace_.records(kTrack);
    std::erase_if(kept, [](const KeptTrace::Kept& one) { return one.record.kind != RingKind::kCollective; });
    return kept;
  }
  // What NCCL does to enqueue an operation.
  void* enqueue(const Work& work, void* call = nullptr) {
    void* const operation = nccl_.start(context_, call, work);
    nccl_.stop(operation);
    return operation;
  }
  void* start_channel(void* operation, int channel, std::uint64_t timer) {
    return nccl_.start_channel(context_, operation, channel, timer);
  }
  // The one channel of an operation, from its start to its stop.
  void run_channel(void* operation, std::uint64_t begin, std::uint64_t end) {
    nccl_.stop_channel(start_channel(operation, 0, begin), end);
  }
  bool has_timer() const { return GetParam() >= 4; }

  FakeNccl nccl_{GetParam()};
  KeptTrace trace_;
  std::unique_ptr<Collector> collector_ = start_nccl(trace_, {.rank = 5, .process = "trainer"});
  void* context_ = nccl_.init(kHash, "tp", 8, 3);
};
// Versions that tell times of the device, those that tell of calls, and that which tells of copy engines.
using NcclTimers = NcclVersions;
using NcclCalls = NcclVersions;
using NcclCopies = NcclVersions;

TEST_P(NcclVersions, EachOperationIsHandedOverOnceWithItsFacts) {
  ASSERT_EQ(nccl_.interface(), GetParam()) << "the newest that this NCCL knows";
  std::vector<std::int64_t> enqueued;
  std::vector<fake_nccl::Ran> ran;
  const std::vector<Work> works = {
      {.sequence = 41, .count = 1'000},
      {.function = "Broadcast",
       .sequence = 7,
       .count = 10,
       .dtype = "ncclBfloat16",
       .root = 2,
       .algorithm = "TREE",
       .protocol = "LL",
       .channels = 4},
      {.function = "Send", .count = 12, .dtype = "ncclFloat8e4m3", .channels = 2, .peer = 6},
      {.function = "Recv", .count = 12, .dtype = "ncclInt64", .channels = 2, .peer = 6},
      {.function = "Send", .count = 1, .dtype = "ncclFloat16", .channels = 1, .peer = 6}};
  {
    FakeDevice device(nccl_, {.offset_ns = 1'000'000'000'000, .drift = 20e-6});
    for (const Work& work : works) {
      void* const call = nccl_.start_call(context_, work.function);
      enqueued.push_back(now_ns());
      void* const operation = nccl_.start(context_, call, work);
      nccl_.stop(operation);
      nccl_.stop(call);
      device.launch(context_, operation, work.channels, 2'000'000);
    }
    device.wait();
    ran = device.ran();
  }
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), works.size());
  const char* const names[] = {"AllReduce RING SIMPLE", "Broadcast from 2 TREE LL", "Send", "Recv", "Send"};
  const std::int64_t sequences[] = {41, 7, 0, 0, 1}, bytes[] = {4'000, 20, 12, 96, 2};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const RingRecord& record = kept[i].record;
    EXPECT_EQ(kept[i].name, names[i]);
    EXPECT_EQ(record.kind, RingKind::kCollective);
    EXPECT_EQ(event_category(record.span.flags), EventCategory::kTransfer);
    EXPECT_EQ(record.span.flags & kEventUnfinished, 0u);
    EXPECT_EQ(record.sequence, sequences[i]);
    EXPECT_EQ(record.bytes, bytes[i]);
    EXPECT_EQ(record.peer, i < 2 ? -1 : 6);
    EXPECT_EQ(record.run, kNoRun);
    EXPECT_LE(record.span.begin_ns, std::min(enqueued[i] + 1'000'000'000, record.transfer_begin_ns));
    // The clock is late by the delay of the proxy at most, and early by the drift since the pair that it knows.
    EXPECT_GE(record.transfer_begin_ns, ran[i].begin_ns - 5'000) << i;
    EXPECT_GE(record.span.end_ns, ran[i].end_ns - 5'000) << i;
    EXPECT_LE(record.transfer_begin_ns, record.span.end_ns);
  }
  // Its calls have tracks of their own, which may come first.
  const auto found =
      std::ranges::find(trace_.tracks(), TrackKind::kForeign, [](const auto& kept) { return kept.track.kind; });
  ASSERT_NE(found, trace_.tracks().end());
  const Track& track = found->track;
  EXPECT_EQ(track.name,
            GetParam() == 3 ? "NCCL 0xabcdef0123456789 rank 3 (tp)" : "NCCL 0xabcdef0123456789 rank 3 of 8 (tp)");
  EXPECT_TRUE(track.overlapping);
  EXPECT_EQ(track.rank, 5);
  EXPECT_EQ(track.process, "trainer");
  EXPECT_EQ(trace_.records(std::string(kTrack) + " rank 3 of 8 (tp) error").size(), GetParam() >= 5 ? 1u : 0u);
}

TEST_P(NcclVersions, AnOperationEndsWithItsLastChildNotWithItsStop) {
  void* const operation = enqueue({.sequence = 1, .channels = 2});
  sleep_ms(60);
  // NCCL tells of a channel long after the operation was enqueued, and of network transfers when it likes.
  void* const first = start_channel(operation, 0, 1'000'000);
  void* const second = start_channel(operation, 1, 1'000'500);
  nccl_.stop_channel(second, 2'000'000);
  void* const transfer = nccl_.start_proxy(context_, operation, ::getpid());
  nccl_.stop_channel(first, 2'000'100);
  sleep_ms(60);
  const std::int64_t before_last_ns = now_ns();
  nccl_.stop(transfer);
  const std::int64_t after_last_ns = now_ns();
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_GE(kept[0].record.span.end_ns, before_last_ns);
  EXPECT_LE(kept[0].record.span.end_ns, after_last_ns);
  if (has_timer()) {
    EXPECT_LT(kept[0].record.transfer_begin_ns, before_last_ns - 50'000'000);
  }
  EXPECT_THAT(collector_->notes(), testing::Not(testing::Contains(HasSubstr("did not tell"))));
}

TEST_P(NcclTimers, LengthsOfChannelsAreTheTimers) {
  void* const operation = enqueue({.sequence = 1, .channels = 2});
  sleep_ms(5);
  void* const first = start_channel(operation, 0, 5'000'000);
  void* const second = start_channel(operation, 1, 5'000'200);
  sleep_ms(5);
  nccl_.stop_channel(first, 5'700'000);
  nccl_.stop_channel(second, 5'700'900);
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].record.span.end_ns - kept[0].record.transfer_begin_ns, 700'900);
}

TEST_P(NcclVersions, WhatIsLostOrToldTwiceDoesNoHarm) {
  void* const hanging = enqueue({.sequence = 1});
  start_channel(hanging, 0, 900);  // whose stop never comes
  void* const childless = enqueue({.function = "Send", .peer = 0});
  nccl_.start(context_, nullptr, {.sequence = 2});  // whose stop never comes
  void* const whole = enqueue({.sequence = 3});
  void* const channel = start_channel(whole, 0, 1'000);
  nccl_.stop_channel(channel, 2'000);
  nccl_.stop(channel);
  nccl_.stop(whole);
  // NCCL read its start after the device had run as many kernels as its ring has room for: it is that of a later one.
  void* const written_over = enqueue({.sequence = 5});
  nccl_.stop_channel(start_channel(written_over, 0, 9'000), 2'500);
  sleep_ms(1'400);
  // Later ones have ended for a second, so the three are given up; none that is still under way is.
  void* const open = enqueue({.sequence = 4});
  start_channel(open, 0, 3'000);
  for (void* const gone : {whole, hanging, childless}) {
    EXPECT_EQ(start_channel(gone, 0, 5'000), nullptr);
    EXPECT_EQ(nccl_.start_proxy(context_, gone, ::getpid()), nullptr);
    nccl_.stop(gone);
  }
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 6u);
  int unfinished = 0;
  for (const KeptTrace::Kept& one : kept) {
    EXPECT_GE(one.record.span.end_ns, one.record.transfer_begin_ns);
    EXPECT_GE(one.record.transfer_begin_ns, one.record.span.begin_ns);
    if ((one.record.span.flags & kEventUnfinished) == 0) continue;
    ++unfinished;
    EXPECT_EQ(one.record.sequence, 4);
  }
  EXPECT_EQ(unfinished, 1) << "what was open at the stop";
  const std::string twice = has_timer() ? "3" : "2";
  EXPECT_THAT(collector_->notes(), testing::Contains(HasSubstr("4 operations for which NCCL did not tell the end")));
  EXPECT_THAT(collector_->notes(), testing::Contains(HasSubstr(twice + " starts or stops that NCCL told twice")));
  EXPECT_THAT(collector_->notes(), testing::Contains(HasSubstr("9 events of NCCL that came after")));
}

TEST_P(NcclVersions, ChildrenOfOtherProcessesAreNotMixedUpWithOwnOnes) {
  void* const operation = enqueue({.sequence = 1});
  // The handle is that of another process's operation, and happens to be one of ours.
  EXPECT_EQ(nccl_.start_proxy(context_, operation, ::getpid() + 1), nullptr);
  run_channel(operation, 1'000, 2'000);
  EXPECT_EQ(stop_and_take().size(), 1u);
  EXPECT_THAT(collector_->notes(), testing::Contains(HasSubstr("1 network transfers for ranks of other processes")));
}

TEST_P(NcclVersions, ACommunicatorMayGoInTheMiddle) {
  void* const operation = enqueue({.sequence = 1, .channels = 2});
  void* const first = start_channel(operation, 0, 1'000);
  nccl_.finalize(context_);
  EXPECT_EQ(nccl_.start(context_, nullptr, {.sequence = 2}), nullptr) << "nothing starts any more";
  void* const second = start_channel(operation, 1, 1'000);
  nccl_.stop_channel(first, 2'000);
  nccl_.stop_channel(second, 2'000);
  nccl_.finalize(context_);
  // Another one has its row, not its operations.
  context_ = nccl_.init(kHash + 1, "pp", 2, 1);
  run_channel(enqueue({.sequence = 9}), 3'000, 4'000);
  EXPECT_EQ(stop_and_take().size(), 1u);
  EXPECT_EQ(trace_.records("NCCL 0xabcdef012345678a").size(), 1u);
}

TEST_P(NcclVersions, ThreadsWithCommunicatorsOfTheirOwn) {
  const int operations = sanitized_by_thread() ? 200 : 1'000;
  constexpr int kThreads = 4;
  FakeNccl& nccl = nccl_;
  std::vector<void*> contexts;
  for (int i = 0; i < kThreads; ++i) contexts.push_back(nccl.init(kHash, "tp", 2, 0));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&nccl, context = contexts[static_cast<std::size_t>(i)], operations] {
      // Host and proxy are threads of their own, for each communicator.
      FakeDevice device(nccl, {.offset_ns = 17});
      for (int k = 0; k < operations; ++k) {
        void* const call = nccl.start_call(context, "AllReduce");
        void* const operation = nccl.start(context, call, {.sequence = static_cast<std::uint64_t>(k), .channels = 2});
        nccl.stop(call);
        device.launch(context, operation, 2, 0);
        nccl.stop(operation);
        if (k % 16 == 15) device.wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  const LedgerRecord ledger = trace_.ledger(kTrack);
  EXPECT_EQ(ledger.sent, ledger.stored + ledger.dropped + ledger.unreadable);
  std::map<std::int64_t, int> times;
  for (const KeptTrace::Kept& one : kept) ++times[one.record.sequence];
  EXPECT_EQ(std::ssize(kept) + ledger.dropped, kThreads * operations);
  EXPECT_EQ(ledger.dropped, 0);
  for (const auto& [sequence, count] : times) EXPECT_EQ(count, kThreads) << sequence;
  EXPECT_EQ(times.size(), static_cast<std::size_t>(operations));
  for (void* const context : contexts) nccl.finalize(context);
}

TEST_P(NcclVersions, WhatFindsNoPlaceIsCounted) {
  for (std::uint32_t i = 0; i < Operations::kMax + 100; ++i) {
    void* const operation = nccl_.start(context_, nullptr, {.sequence = i});
    EXPECT_EQ(operation == nullptr, i >= Operations::kMax);
    nccl_.stop(start_channel(operation, 0, 0));
  }
  stop_and_take();
  const LedgerRecord ledger = trace_.ledger(kTrack);
  EXPECT_EQ(ledger.sent, Operations::kMax + 100);
  EXPECT_EQ(ledger.dropped, 100);
  EXPECT_EQ(ledger.stored, Operations::kMax);
  EXPECT_EQ(collector_->cost().dropped, 100);
}

TEST_P(NcclVersions, WhatARingHasNoRoomForIsDroppedAndNoRecord) {
  collector_.reset();
  KeptTrace small(4);  // nobody takes records out meanwhile
  collector_ = start_nccl(small, {.process = "trainer"});
  for (std::uint64_t i = 0; i < 20; ++i) run_channel(enqueue({.sequence = i}), 1'000, 2'000);
  collector_->stop();
  const LedgerRecord ledger = small.ledger();
  const CollectorCost cost = collector_->cost();
  EXPECT_EQ(small.ledger(kTrack).dropped, 16);
  EXPECT_EQ(cost.records, ledger.stored);
  EXPECT_EQ(cost.dropped, ledger.dropped);
  collector_.reset();
}

TEST_P(NcclVersions, NcclIsAskedForEventsOnlyWhileSomebodyCollects) {
  const int wanted = nccl_.mask();
  EXPECT_EQ(wanted, GetParam() <= 4 ? 0x4e : GetParam() == 5 ? 0x74e : 0x174e);
  EXPECT_FALSE(failure_of([&] { collector_->stop(); }));
  EXPECT_EQ(nccl_.mask(), 0);
  nccl_.finalize(context_);
  context_ = nccl_.init(kHash + 1, "pp", 2, 0);  // NCCL came first
  EXPECT_EQ(nccl_.mask(), 0);
  EXPECT_EQ(nccl_.start(context_, nullptr, {}), nullptr);
  KeptTrace second;
  const std::unique_ptr<Collector> next = start_nccl(second, {});
  EXPECT_EQ(nccl_.mask(), wanted);
  run_channel(enqueue({.sequence = 1}), 10, 20);
  next->stop();
  EXPECT_EQ(second.records("NCCL").size(), 1u);
  EXPECT_EQ(trace_.records("NCCL").size(), 0u);
  EXPECT_FALSE(nccl_cannot_collect()) << "NCCL has loaded the plugin";
}

TEST_P(NcclVersions, APauseAsksForNothingAndKnowsCommunicatorsOfMeanwhile) {
  const int wanted = nccl_.mask();
  run_channel(enqueue({.function = "Send", .peer = 6}), 10, 20);
  collector_->pause();
  EXPECT_EQ(nccl_.mask(), 0);
  EXPECT_EQ(enqueue({.function = "Send", .peer = 6}), nullptr);
  void* const other = nccl_.init(kHash + 1, "pp", 2, 0);
  EXPECT_EQ(nccl_.mask(), 0);
  collector_->resume();
  EXPECT_EQ(nccl_.mask(), wanted);
  run_channel(enqueue({.function = "Send", .peer = 6}), 30, 40);
  nccl_.finalize(other);
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].record.sequence, 0);
  EXPECT_EQ(kept[1].record.sequence, -1) << "nobody counted those of the pause";
}

TEST_P(NcclVersions, OneCollectsAtATime) {
  const std::optional<Error> error = failure_of([&] { start_nccl(trace_, {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
  EXPECT_THAT(error->what(), HasSubstr("collected in this process already"));
}

INSTANTIATE_TEST_SUITE_P(Nccl, NcclVersions, testing::Values(3, 4, 5, 6));

TEST_P(NcclCalls, CallsAreOnTracksOfTheirThreads) {
  const std::int64_t begin_ns = now_ns();
  void* const group = nccl_.start_group(context_, 2);
  void* const call = nccl_.start_call(context_, "AllReduce");
  sleep_ms(2);
  nccl_.stop(call);
  const std::int64_t called_ns = now_ns();
  sleep_ms(20);
  // The operations of a group are enqueued at its end, with the call as their parent.
  nccl_.group_end_starts(group);
  void* const operation = enqueue({.sequence = 1}, call);
  nccl_.stop(group);
  run_channel(operation, timer(), timer());
  // A call alone makes a group for itself, which is no call of the program's.
  void* const own = nccl_.start_group(context_, 1);
  nccl_.stop(nccl_.start_call(context_, "Send"));
  nccl_.group_end_starts(own);
  nccl_.stop(own);
  // What was captured into a graph begins when the graph runs, not when it was captured.
  void* const captured = nccl_.start_call(context_, "AllGather", true);
  nccl_.stop(captured);
  sleep_ms(5);
  const std::int64_t replayed_ns = now_ns();
  void* const replay = enqueue({.function = "AllGather", .sequence = 2}, captured);
  run_channel(replay, timer(), timer());
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_GE(kept[0].record.span.begin_ns, begin_ns);
  EXPECT_LT(kept[0].record.span.begin_ns, called_ns);
  EXPECT_GE(kept[1].record.span.begin_ns, replayed_ns);
  const std::vector<KeptTrace::Kept> calls = trace_.records("NCCL calls, thread " + std::to_string(::gettid()));
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].name, "ncclAllReduce");
  EXPECT_GE(calls[0].record.span.end_ns - calls[0].record.span.begin_ns, 2'000'000);
  EXPECT_EQ(calls[1].name, "ncclGroupEnd");
  EXPECT_GE(calls[1].record.span.begin_ns, calls[0].record.span.end_ns + 15'000'000);
  EXPECT_EQ(calls[2].name, "ncclSend");
  EXPECT_EQ(calls[3].name, "ncclAllGather");
  for (const KeptTrace::Kept& one : calls) {
    EXPECT_EQ(one.record.kind, RingKind::kWork);
    EXPECT_EQ(event_category(one.record.span.flags), EventCategory::kApi);
  }
}

TEST_P(NcclCopies, CollectivesOfCopyEnginesAreKnownToBeEnqueued) {
  void* const kernel = enqueue({.sequence = 7});
  sleep_ms(2);
  const std::int64_t begun_ns = now_ns();
  run_channel(kernel, timer(), timer());
  nccl_.stop(nccl_.start_copies(context_, {.function = "AllGather", .sequence = 8, .count = 3}));
  const std::vector<KeptTrace::Kept> kept = stop_and_take();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_LT(kept[0].record.span.begin_ns, begun_ns);
  EXPECT_GT(kept[0].record.transfer_begin_ns, begun_ns - 1'000'000) << "until the device began it was queued";
  EXPECT_EQ(kept[1].name, "AllGather CE MC");
  EXPECT_EQ(kept[1].record.sequence, 8);
  EXPECT_EQ(kept[1].record.bytes, 12);
  EXPECT_EQ(kept[1].record.transfer_begin_ns, kept[1].record.span.begin_ns) << "no wait for the device is made up";
  EXPECT_THAT(collector_->notes(), testing::Contains(HasSubstr("1 collectives of copy engines")));
}

INSTANTIATE_TEST_SUITE_P(Nccl, NcclTimers, testing::Values(4, 5, 6));
INSTANTIATE_TEST_SUITE_P(Nccl, NcclCalls, testing::Values(5, 6));
INSTANTIATE_TEST_SUITE_P(Nccl, NcclCopies, testing::Values(6));

}  // namespace
}  // namespace spscope::nccl
