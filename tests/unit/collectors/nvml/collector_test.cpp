// The collector as programs start it: its thread samples the fake NVML that the loader finds.
#include "collectors/collector.h"

#include <gtest/gtest.h>

#include <thread>

#include "backend/base/clock.h"
#include "tests/support/kept_trace.h"
#include "tests/unit/collectors/nvml/fake_nvml.h"

namespace spscope {

std::unique_ptr<Collector> start_nvml(TraceSink& sink, const CollectedProcess& process);

namespace {

using nvml::FakeNvml;

constexpr const char* kTrack = "GPU 0 temperature (C)";

void wait_for_samples(KeptTrace& sink, std::size_t count) {
  const std::int64_t give_up_ns = now_ns() + 60'000'000'000;
  while (sink.samples(kTrack).size() < count && now_ns() < give_up_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(NvmlCollector, SamplesOnTheRawClockUntilItIsStopped) {
  FakeNvml fake;
  KeptTrace sink;
  const std::int64_t begin_ns = now_ns();
  const std::unique_ptr<Collector> collector = start_nvml(sink, {.rank = 0, .devices = {0}});
  EXPECT_EQ(fake.users(), 1);
  wait_for_samples(sink, 3);
  collector->stop();
  const std::int64_t end_ns = now_ns();
  const std::vector<CounterSample> samples = sink.samples(kTrack);
  ASSERT_GE(samples.size(), 3u);
  EXPECT_GE(samples.front().time_ns, begin_ns);
  EXPECT_LE(samples.back().time_ns, end_ns);
  // Two looks at the clock lie between sample n and the one after it, at times of one grid: less than the period and
  // the lateness of the first, but never two in one period.
  EXPECT_GE(samples[2].time_ns - samples[0].time_ns, 100'000'000);
  const CollectorCost cost = collector->cost();
  EXPECT_GT(cost.thread_ns, 0);
  EXPECT_EQ(cost.dropped, 0);
  EXPECT_GE(cost.records, 3 * 12 - 4);
  EXPECT_GT(cost.memory_bytes, 12 * 64 * 80);
  EXPECT_EQ(sink.samples(kTrack).size(), samples.size()) << "nothing comes after stop()";
  EXPECT_NO_THROW(collector->stop());
}

TEST(NvmlCollector, SamplesAreThoseOfWindows) {
  FakeNvml fake;
  KeptTrace sink;
  const auto windows = std::make_unique<CollectWindows>();
  const std::unique_ptr<Collector> collector = start_nvml(sink, {.devices = {0}, .windows = windows.get()});
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const std::int64_t begin_ns = now_ns();
  windows->open(begin_ns);
  wait_for_samples(sink, 2);
  windows->close(now_ns());
  collector->stop();
  const std::vector<CounterSample> samples = sink.samples(kTrack);
  ASSERT_GE(samples.size(), 2u);
  EXPECT_GE(samples.front().time_ns, begin_ns);
}

TEST(NvmlCollector, StopDoesNotWaitForTheNextSample) {
  FakeNvml fake;
  KeptTrace sink;
  std::int64_t shortest_ns = 1'000'000'000;
  for (int i = 0; i < 20; ++i) {
    const std::unique_ptr<Collector> collector = start_nvml(sink, {});
    const std::int64_t begin_ns = now_ns();
    collector->stop();
    shortest_ns = std::min(shortest_ns, now_ns() - begin_ns);
  }
  EXPECT_EQ(fake.users(), 0);
  EXPECT_LT(shortest_ns, 50'000'000) << "a sample comes each 100 ms, and none of 20 stops came between two";
}

}  // namespace
}  // namespace spscope
