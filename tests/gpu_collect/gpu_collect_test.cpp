// A plan on GPUs as collectors see it: every launch and copy of a timed repeat once, with the op that asked for it, on
// a stream of the op's rank, within the op's times.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "backend/base/clock.h"
#include "collectors/cupti/collector.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/ring_of_4.h"
#include "tests/support/kept_trace.h"
#include "tests/unit/collectors/fake/fake_cupti.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;

constexpr RunId kRun{7};
constexpr int kRepeats = 2, kWarmup = 1;
// The executor knows the clock of a GPU as well as it saw an event end; a loaded machine keeps it from looking.
constexpr std::int64_t kClockErrorNs = 5'000'000;

// Tells a collector what RunRecorder tells it, and keeps the times of ops.
class Recorder final : public OpRecorder {
 public:
  explicit Recorder(Collector& collector) : collector_(collector) {}
  void begin_repeat(int repeat) noexcept override { repeat_ = repeat; }
  void end_repeat() noexcept override {}
  void fault(const RankFault&) noexcept override {}
  RunId run() const noexcept override { return kRun; }
  NowLine* line(int, int) noexcept override { return nullptr; }
  std::string page_path() const override { return {}; }
  void launching(int rank, int, OpId op) noexcept override {
    if (repeat_ >= 0) collector_.begin_launch(rank, kRun, op);
  }
  void launched() noexcept override {
    if (repeat_ >= 0) collector_.end_launch();
  }
  EventCounts ended(int rank, int lane, OpId op, const OpTimes& times) noexcept override {
    if (repeat_ < 0) return {};
    RingRecord record;
    record.span = {times.post_ns, times.end_ns, op, 0, 0};
    record.run = kRun;
    collector_.op_ended(rank, lane, record);
    times_.emplace(op, times);
    return {};
  }
  const std::multimap<OpId, OpTimes>& times() const { return times_; }
  bool lies_in_op(const SpanEvent& event) const {
    const auto [first, last] = times_.equal_range(static_cast<OpId>(event.op_id));
    return std::any_of(first, last, [&](const auto& of) {
      return of.second.post_ns - kClockErrorNs <= event.begin_ns && event.end_ns <= of.second.end_ns + kClockErrorNs;
    });
  }

 private:
  Collector& collector_;
  std::atomic<int> repeat_ = 0;
  std::multimap<OpId, OpTimes> times_;
};

void run_with(Recorder& recorder, const RingOf4& ring) {
  ExecuteOptions options;
  options.repeats = kRepeats;
  options.warmup = kWarmup;
  options.recorder = &recorder;
  ring.run(options);
}

class GpuCollect : public testing::TestWithParam<int> {};

TEST_P(GpuCollect, EachLaunchAndCopyIsStoredOnceWithTheOpThatAskedForIt) {
  const RingOf4 ring;
  const FakeCuda cuda("devices=2");
  cupti::FakeCupti cupti(GetParam());
  KeptTrace sink(1 << 16);  // nobody takes records out meanwhile
  const std::unique_ptr<Collector> collector = cupti::start(sink, {}, {.library = cupti.path()});
  Recorder recorder(*collector);
  run_with(recorder, ring);
  collector->stop();

  EXPECT_EQ(collector->cost().dropped, 0);
  EXPECT_EQ(collector->cost().records, cupti.made());
  std::map<std::int64_t, int> kernels;  // by op
  std::map<int, std::int64_t> copied;   // bytes, by rank that receives
  int kernels_without_op = 0;
  for (const KeptTrace::KeptTrack& kept : sink.tracks()) {
    if (kept.track.kind != TrackKind::kDeviceStream) continue;
    EXPECT_EQ(kept.track.slot, 0) << "nothing overlaps on a stream";
    for (const RingRecord& record : kept.records) {
      const WorkEvent work = record.work();
      const EventCategory category = event_category(work.span.flags);
      if (work.span.op_id == kNone) {
        kernels_without_op += category == EventCategory::kKernel;
        continue;
      }
      const Op& op = ring.op(work.span.op_id);
      EXPECT_EQ(record.run, kRun);
      EXPECT_EQ(kept.track.rank, op.rank);
      EXPECT_EQ(kept.track.device, op.rank % 2 == 0 ? "GPU 0 at 0000:01:00.0" : "GPU 1 at 0000:02:00.0");
      EXPECT_TRUE(recorder.lies_in_op(work.span)) << "op " << work.span.op_id;
      EXPECT_EQ(communicates(ring.plan.kind_of(op)), category == EventCategory::kCopy);
      if (category == EventCategory::kCopy)
        copied[op.rank] += work.bytes;
      else
        ++kernels[work.span.op_id];
    }
  }
  int kernels_with_op = 0;
  for (std::size_t id = 0; id < ring.plan.ops.size(); ++id) {
    const PostKind kind = ring.plan.kind_of(ring.plan.ops[id]);
    const int found = kernels[static_cast<std::int64_t>(id)];
    kernels_with_op += found;
    EXPECT_EQ(found % kRepeats, 0) << "op " << id;
    if (kind == PostKind::kAttend) {
      EXPECT_GE(found, kRepeats) << "op " << id;
    }
  }
  EXPECT_EQ(kernels_with_op + kernels_without_op, cuda.launches());
  EXPECT_EQ(kernels_without_op * kRepeats, kernels_with_op * kWarmup) << "those of the warm-up have no op";
  std::map<int, std::int64_t> planned;
  for (const Message& message : ring.plan.messages)
    if (message.src != message.dst) planned[message.dst] += message.bytes * kRepeats;
  EXPECT_EQ(copied, planned);
}

INSTANTIATE_TEST_SUITE_P(Cuda, GpuCollect, testing::Values(11, 12, 13));

}  // namespace
}  // namespace spscope
