// Samples of the fake NVML, at times that the test sets.
#include "collectors/nvml/sampler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "backend/base/result.h"
#include "collectors/nvml/pace.h"
#include "tests/support/kept_trace.h"
#include "tests/unit/collectors/nvml/fake_nvml.h"

namespace spscope::nvml {
namespace {

using testing::Contains;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kTick = 100'000'000;

class NvmlSampler : public testing::Test {
 protected:
  // Starts on all GPUs that the settings give; what the script of a test sets comes after that, by script().
  void start(const char* settings, const char* library = "nvidia-ml") {
    fake_ = std::make_unique<FakeNvml>(library);
    fake_->reset(settings);
    library_ = std::make_unique<Library>(fake_->path());
    found_ = find_gpus(*library_, {.failure = "not asked"}, {});
    sampler_ = std::make_unique<Sampler>(*library_, found_.gpus, sink_, CollectedProcess{.rank = 3, .process = "train"},
                                         [this] { return time_ns_; });
  }
  void script(const char* settings) { fake_->reset(settings); }
  void sample(int times) {
    for (int i = 0; i < times; ++i, time_ns_ += kTick) sampler_->sample();
  }
  std::vector<double> values(const char* track) {
    std::vector<double> values;
    for (const CounterSample& sample : sink_.samples(track)) values.push_back(sample.value);
    return values;
  }
  const KeptTrace::KeptTrack& track(const std::string& name) {
    return *std::ranges::find(sink_.tracks(), name, [](const auto& kept) { return kept.track.name; });
  }
  std::vector<std::string> tracks() {
    std::vector<std::string> names;
    for (const KeptTrace::KeptTrack& kept : sink_.tracks()) names.push_back(kept.track.name);
    return names;
  }

  std::unique_ptr<FakeNvml> fake_;
  std::unique_ptr<Library> library_;
  FoundGpus found_;
  KeptTrace sink_;
  std::unique_ptr<Sampler> sampler_;
  std::int64_t time_ns_ = 5'000;
};

TEST_F(NvmlSampler, EachQuantityIsATrackInItsUnit) {
  start("");
  script(
      "set=utilization:12,34 set=memory_utilization:5 set=sm_clock:1980 set=memory_clock:2619 set=temperature:51,52 "
      "set=memory_used:1500000000 set=field.186:123456 set=energy:7000,7250,8000");
  sample(3);
  EXPECT_THAT(values("GPU 0 utilization (%)"), ElementsAre(12, 34, 34));
  EXPECT_THAT(values("GPU 0 memory utilization (%)"), ElementsAre(5, 5, 5));
  EXPECT_THAT(values("GPU 0 SM clock (MHz)"), ElementsAre(1980, 1980, 1980));
  EXPECT_THAT(values("GPU 0 memory clock (MHz)"), ElementsAre(2619, 2619, 2619));
  EXPECT_THAT(values("GPU 0 temperature (C)"), ElementsAre(51, 52, 52));
  EXPECT_THAT(values("GPU 0 memory used (GB)"), ElementsAre(1.5, 1.5, 1.5));
  EXPECT_THAT(values("GPU 0 power (W)"), ElementsAre(123.456, 123.456, 123.456));
  EXPECT_THAT(values("GPU 0 energy (J)"), ElementsAre(0, 0.25, 1)) << "since the first sample";
  EXPECT_THAT(
      sink_.samples("GPU 0 temperature (C)"),
      ElementsAre(CounterSample{5'000, 51}, CounterSample{5'000 + kTick, 52}, CounterSample{5'000 + 2 * kTick, 52}));
  for (const KeptTrace::KeptTrack& kept : sink_.tracks()) {
    EXPECT_EQ(kept.track.kind, TrackKind::kCounter);
    EXPECT_EQ(kept.track.rank, 3);
    EXPECT_EQ(kept.track.process, "train");
    EXPECT_EQ(kept.track.device, "GPU 0");
  }
  EXPECT_EQ(tracks().size(), 12u);
  EXPECT_THAT(sampler_->notes(), IsEmpty());
  EXPECT_EQ(sampler_->dropped(), 0);
  EXPECT_EQ(sampler_->records(), 3 * 8 + 2 * 4) << "rates begin with the second sample";
}

TEST_F(NvmlSampler, LinksAreRatesBetweenSamples) {
  start("");
  // KiB of NVLink, bytes of PCIe in 0.1 s each.
  script(
      "set=field.138:1000,4883813 set=field.139:0,0,9765625 set=field.197:0,250000000 set=field.198:77,77,500000077");
  sample(3);
  EXPECT_THAT(values("GPU 0 NVLink sent (GB/s)"), ElementsAre(DoubleEq((4883813 - 1000) * 1024e-8), 0));
  EXPECT_THAT(values("GPU 0 NVLink received (GB/s)"), ElementsAre(0, DoubleEq(100)));
  EXPECT_THAT(values("GPU 0 PCIe sent (GB/s)"), ElementsAre(2.5, 0));
  EXPECT_THAT(values("GPU 0 PCIe received (GB/s)"), ElementsAre(0, 5));
  EXPECT_EQ(sink_.samples("GPU 0 PCIe sent (GB/s)")[0].time_ns, 5'000 + kTick) << "the end of what it is the rate of";
}

TEST_F(NvmlSampler, ACountOf32BitsMayBeginAnewAndOneOf64WasReset) {
  start("");
  script("set=field.197:4294967290,249999994 set=field.138:5000,10,20");
  sample(3);
  EXPECT_THAT(values("GPU 0 PCIe sent (GB/s)"), ElementsAre(2.5, 0));
  EXPECT_THAT(values("GPU 0 NVLink sent (GB/s)"), ElementsAre(DoubleEq(1024e-7)));
}

TEST_F(NvmlSampler, Nvlink5HasCountersOfItsOwn) {
  start("fail=field.138@0:3 fail=field.139@0:3 set=field.202:0 set=field.204:0");
  script("set=field.202:0,300000000 set=field.204:0");
  sample(2);
  EXPECT_THAT(values("GPU 0 NVLink sent (GB/s)"), ElementsAre(DoubleEq(3)));
  EXPECT_THAT(values("GPU 0 NVLink received (GB/s)"), ElementsAre(0));
}

TEST_F(NvmlSampler, WhatTheGpuHasNotIsOneNoteAndNoTrack) {
  start(
      "gpus=2 fail=field.138@1:3 fail=field.139@1:3 fail=nvmlDeviceGetTotalEnergyConsumption@1:3 "
      "fail=nvmlDeviceGetMemoryInfo@1:4");
  sample(2);
  EXPECT_THAT(
      sampler_->notes(),
      ElementsAre("GPU 1: no energy (J), NVLink sent (GB/s), NVLink received (GB/s): Not Supported "
                  "(driver 580.65.06)",
                  HasSubstr("GPU 1: no memory used (GB): Insufficient Permissions (driver 580.65.06); this user")));
  EXPECT_THAT(tracks(), Not(Contains(StartsWith("GPU 1 NVLink"))));
  EXPECT_THAT(values("GPU 1 temperature (C)"), ElementsAre(63, 63));
  EXPECT_THAT(values("GPU 0 energy (J)"), ElementsAre(0, 0));
  EXPECT_EQ(sampler_->dropped(), 0);
}

TEST_F(NvmlSampler, AnOlderDriverIsAskedByItsOwnCallsAndSlowOnesTakeTurns) {
  start("gpus=2", "nvidia-ml-old");
  script(
      "gpus=2 set=pcie_sent@0:1000000 set=pcie_received@0:2000000 set=pcie_sent@1:3000000 set=pcie_received@1:4000000 "
      "set=limits:4");
  sample(5);
  EXPECT_THAT(values("GPU 0 power (W)"), ElementsAre(612, 612, 612, 612, 612));
  EXPECT_EQ(fake_->calls("nvmlDeviceGetPcieThroughput"), 5) << "20 ms each: one at a time";
  EXPECT_THAT(values("GPU 0 PCIe sent (GB/s)"), ElementsAre(1, 1));
  EXPECT_THAT(values("GPU 0 PCIe received (GB/s)"), ElementsAre(2));
  EXPECT_THAT(values("GPU 1 PCIe sent (GB/s)"), ElementsAre(3));
  EXPECT_THAT(values("GPU 1 PCIe received (GB/s)"), ElementsAre(4));
  EXPECT_THAT(values("GPU 1 low clocks: power cap (0 or 1)"), ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(NvmlSampler, AReasonOfLowClocksIsACounterFromWhenItFirstHeld) {
  start("");
  script("set=limits:0,0,0,4,68,64,512,0");
  sample(8);
  const auto at = [](int tick, double value) { return CounterSample{5'000 + tick * kTick, value}; };
  EXPECT_THAT(sink_.samples("GPU 0 low clocks: power cap (0 or 1)"),
              ElementsAre(at(0, 0), at(2, 0), at(3, 1), at(4, 1), at(5, 0), at(6, 0), at(7, 0)));
  EXPECT_THAT(sink_.samples("GPU 0 low clocks: hardware thermal slowdown (0 or 1)"),
              ElementsAre(at(0, 0), at(3, 0), at(4, 1), at(5, 1), at(6, 0), at(7, 0)));
  EXPECT_THAT(values("GPU 0 low clocks: reason 0x200 (0 or 1)"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(tracks(), Not(Contains("GPU 0 low clocks: idle GPU (0 or 1)")));
}

TEST_F(NvmlSampler, AGpuThatIsLostStopsAndTheOtherGoesOn) {
  start("gpus=2");
  script("gpus=2 lose=1:4");
  sample(3);
  EXPECT_THAT(values("GPU 0 temperature (C)"), ElementsAre(63, 63, 63));
  EXPECT_THAT(values("GPU 1 temperature (C)"), IsEmpty());
  EXPECT_THAT(
      sampler_->notes(),
      ElementsAre(HasSubstr("GPU 1 has no samples any more: nvmlDeviceGetClockInfo failed with 15, GPU is lost; "
                            "the GPU fell off the bus: see `dmesg`")));
  EXPECT_EQ(fake_->calls("nvmlDeviceGetClockInfo@1"), 2) << "it is not asked again";
  EXPECT_EQ(sampler_->dropped(), 1);
}

TEST_F(NvmlSampler, ASampleThatFailsIsCountedAndTheNextOnesCome) {
  start("");
  script("fail=nvmlDeviceGetTemperature@0:999,2 fail=nvmlDeviceGetFieldValues@0:999,3 set=field.197:0,0,0,200000000");
  sample(4);
  EXPECT_EQ(values("GPU 0 temperature (C)").size(), 3u);
  EXPECT_THAT(values("GPU 0 PCIe sent (GB/s)"), ElementsAre(0, 0)) << "the rate of two ticks after the one that failed";
  EXPECT_THAT(sampler_->notes(),
              Contains("1 samples are missing: GPU 0 temperature (C): nvmlDeviceGetTemperature failed "
                       "with 999, Unknown Error; NVML does not reach the driver: see `nvidia-smi` and "
                       "`dmesg`"));
  EXPECT_EQ(sampler_->dropped(), 1 + 5);
  sampler_->finish();
  EXPECT_EQ(track("GPU 0 temperature (C)").dropped, 1);
  EXPECT_EQ(track("GPU 0 power (W)").dropped, 1);
  EXPECT_EQ(track("GPU 0 SM clock (MHz)").dropped, 0);
}

TEST_F(NvmlSampler, SamplesThatFindNoRoomAreCounted) {
  start("");
  const auto room = static_cast<int>(track("GPU 0 temperature (C)").ring->capacity());
  sample(room + 3);
  EXPECT_EQ(track("GPU 0 temperature (C)").ring->dropped(), 3);
  EXPECT_EQ(sampler_->dropped(), 8 * 3 + 4 * 2);
}

TEST_F(NvmlSampler, WhereNothingCanBeReadTheErrorSaysWhy) {
  const std::optional<Error> error = failure_of([&] { start("lose=0:4"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
  EXPECT_THAT(error->what(), HasSubstr("NVML measures nothing here: GPU 0: no everything: GPU is lost"));
  EXPECT_THAT(error->what(), HasSubstr("Xid"));
}

constexpr std::int64_t kMs = 1'000'000;

// Time that passes only by waiting and working; it is over after `waits` waits, each of which ends `late_ns` late.
struct StandingClock {
  std::int64_t time_ns = 7 * kMs, late_ns = 0;
  int waits = 5;
  std::vector<std::int64_t> worked = {};
  std::int64_t run(const std::function<std::int64_t()>& takes_ns) {
    const PaceClock clock = {.now = [this] { return time_ns; },
                             .wait =
                                 [this](std::int64_t until_ns) {
                                   if (waits-- == 0) return false;
                                   time_ns = std::max(time_ns, until_ns) + late_ns;
                                   return true;
                                 }};
    return work_at_pace(clock, 100 * kMs, [&] {
      worked.push_back(time_ns / kMs);
      time_ns += takes_ns();
    });
  }
};

TEST(NvmlPace, NeitherWorkThatTakesTimeNorWakingLateAddsUp) {
  StandingClock clock;
  EXPECT_EQ(clock.run([] { return 30 * kMs; }), 0);
  EXPECT_THAT(clock.worked, ElementsAre(7, 107, 207, 307, 407));
  StandingClock late = {.late_ns = 9 * kMs};
  EXPECT_EQ(late.run([] { return kMs; }), 0);
  EXPECT_THAT(late.worked, ElementsAre(16, 116, 216, 316, 416));
}

TEST(NvmlPace, TimesThatPassDuringWorkAreLeftOutAndCounted) {
  StandingClock clock;
  int calls = 0;
  EXPECT_EQ(clock.run([&] { return ++calls == 2 ? 250 * kMs : kMs; }), 2);
  EXPECT_THAT(clock.worked, ElementsAre(7, 107, 407, 507, 607));
}

TEST(NvmlPace, NothingIsDoneOnceItIsOver) {
  StandingClock clock = {.waits = 0};
  EXPECT_EQ(clock.run([] { return kMs; }), 0);
  EXPECT_THAT(clock.worked, ElementsAre());
}

}  // namespace
}  // namespace spscope::nvml
