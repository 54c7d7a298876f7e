// Calibration of a fake GPU: with planted times each number of the profile is the planted one, and attention ran beside
// the SMs that were held; with emulated kernels every number is there; and what fails leaves no profile.
#include "backend/execute/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include "backend/base/result.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/planted_times.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;
using fake_cuda::kAttendLaunchNs;
using fake_cuda::kAttendPairNs;
using fake_cuda::kAttendRowNs;
using fake_cuda::kCopyByteNs;
using fake_cuda::kCopyNs;
using fake_cuda::kMoveByteNs;

CalibrateOptions short_calibration() {
  CalibrateOptions options;
  options.device = "cuda";
  options.dtype = Dtype::kBf16;
  options.seconds = 0;  // three rounds
  options.max_tokens = 128;
  options.max_message_bytes = 1 << 20;
  return options;
}

// The error of a calibration that must fail.
Error failure_with(const CalibrateOptions& options) {
  const std::optional<Error> failure = failure_of([&] { calibrate(options); });
  return failure ? *failure : Error(ErrorCode::kUsage, "nothing failed", "");
}

void expect_about(double value, double expected, const char* what) {
  EXPECT_NEAR(value, expected, 1e-4 * expected) << what;
}

void expect_planted_costs(const Calibration& found) {
  const KernelCostProfile& cost = found.preset.cost;
  expect_about(cost.attend_ns_per_launch, kAttendLaunchNs, "attend_ns_per_launch");
  expect_about(cost.attend_ns_per_row, kAttendRowNs, "attend_ns_per_row");
  expect_about(cost.attend_ns_per_pair_channel, kAttendPairNs, "attend_ns_per_pair_channel");
  expect_about(cost.gemm_ns_per_flop, kAttendPairNs / 4, "gemm_ns_per_flop");
  expect_about(cost.move_ns_per_byte, kMoveByteNs, "move_ns_per_byte");
  expect_about(found.preset.network.link_gbps, 1 / kCopyByteNs, "link_gbps");
  expect_about(found.preset.network.intra_latency_ns, 2 * kCopyNs, "intra_latency_ns");  // k and v
  const double copied = 1 << 20;
  expect_about(found.copy_gbps, copied / (kCopyNs + kCopyByteNs * copied), "copy_gbps");
  expect_about(found.preset.device.memory_gbps, 2 * found.copy_gbps, "memory_gbps");
  EXPECT_LT(found.attend.max_relative_residual, 1e-4);
  EXPECT_LT(found.move.max_relative_residual, 1e-4);
  EXPECT_LT(found.link.max_relative_residual, 1e-4);
}

// 16 of 132 SMs are an eighth of them; the rest compute 132 / 116 times as long.
TEST(GpuCalibrate, PlantedTimesAreFoundAgain) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32}) {
    const FakeCuda fake("sms=132 times=planted");
    CalibrateOptions options = short_calibration();
    options.dtype = dtype;
    const Calibration found = calibrate(options);
    expect_planted_costs(found);
    expect_about(found.preset.network.compute_slowdown, 132.0 / 116, "compute_slowdown");
    expect_about(found.preset.cost.pack_ns_per_byte, 2 * kMoveByteNs, "pack_ns_per_byte");
    EXPECT_EQ(found.preset.cost.attend_head_dim_multiple, dtype == Dtype::kBf16 ? 32 : 1);
    EXPECT_EQ(fake.launches_of("spscope_hold", 16), 3);  // one in each round, of a block for each SM that is held
    EXPECT_EQ(fake.fault(), "");
  }
}

TEST(GpuCalibrate, AsManySmsAreHeldAsCommunicationTakes) {
  const FakeCuda fake("sms=80 times=planted");
  CalibrateOptions options = short_calibration();
  options.comm_sms = 20;
  expect_about(calibrate(options).preset.network.compute_slowdown, 80.0 / 60, "compute_slowdown");
  EXPECT_EQ(fake.launches_of("spscope_hold", 20), 3);
}

TEST(GpuCalibrate, CopyEnginesTakeNoSmsAndNeedNoPacking) {
  const FakeCuda fake("devices=2 sms=132 times=planted");
  CalibrateOptions options = short_calibration();
  options.comm_sms = 0;
  const Calibration found = calibrate(options);
  expect_planted_costs(found);
  EXPECT_EQ(found.preset.network.compute_slowdown, 1);
  EXPECT_EQ(found.preset.cost.pack_ns_per_byte, 0);
  EXPECT_NE(found.preset.sources.at("network.link_gbps").find("between two GPUs"), std::string::npos);
  EXPECT_EQ(fake.launches_of("spscope_hold", 16), 0);
}

// Times of emulated kernels, that a busy machine disturbs: every number is there and is no absurdity.
TEST(GpuCalibrate, EmulatedKernelsGiveAProfileThatReadsBackEqual) {
  const FakeCuda fake;
  const Calibration found = calibrate(short_calibration());
  const ClusterPreset& preset = found.preset;
  ClusterPreset numbers = preset, unset;
  for (const ClusterFieldRow& field : cluster_fields()) {
    const bool given = preset.sources.contains(std::string(field.name));
    EXPECT_TRUE(given || (!field.required && field.ref(numbers) == field.ref(unset))) << field.name;
    if (!given) continue;
    EXPECT_GE(field.ref(numbers), field.min) << field.name;
    EXPECT_LE(field.ref(numbers), field.max) << field.name;
  }
  EXPECT_GT(preset.cost.attend_ns(2048, 2048.0 * 128, 64), 1e5);
  EXPECT_GT(preset.cost.move_ns_per_byte, 0);
  EXPECT_GT(preset.cost.pack_ns_per_byte, 0);
  EXPECT_GT(preset.cost.host_ns_per_launch, 0);
  EXPECT_GT(preset.cost.host_ns_per_hop, 0);
  EXPECT_GE(preset.network.compute_slowdown, 1);
  EXPECT_EQ(preset.name, "spscope fake device");
  EXPECT_EQ(preset.gpu, "spscope fake device");
  EXPECT_EQ(preset.device.memory_gib, 16);
  EXPECT_EQ(fake.launches_of("spscope_hold", 1), 3);  // an eighth of 4 SMs is none; one at least
  const Result<ClusterPreset> read = parse_cluster(cluster_toml(preset), "calibrated.toml");
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(*read, preset);
  EXPECT_EQ(fake.fault(), "");
}

TEST(GpuCalibrate, WhatFailsIsNamedWithItsPart) {
  const struct {
    const char* settings;
    ErrorCode code;
    std::vector<std::string> words;
  } cases[] = {
      {"times=planted refuse=spscope_attend_mma_64x64:5",
       ErrorCode::kDeviceFailed,
       {"spscope fake device", "attention kernel", "cuLaunchKernel of spscope_attend_mma_64x64", "OUT_OF_RESOURCES"}},
      {"times=planted fail=spscope_merge:1",
       ErrorCode::kDeviceFailed,
       {"copies, merges and finishes", "LAUNCH_FAILED"}},
      {"times=planted fail=spscope_hold:2", ErrorCode::kDeviceFailed, {"attention on fewer SMs", "LAUNCH_FAILED"}},
      {"times=planted memory=3000000", ErrorCode::kDeviceMemory, {"attention kernel", "cuMemAlloc", "--tokens"}},
      {"capability=7.5", ErrorCode::kDeviceFailed, {"NO_BINARY_FOR_GPU", "compute capability 8.0"}},
  };
  for (const auto& [settings, code, words] : cases) {
    const FakeCuda fake(settings);
    const Error error = failure_with(short_calibration());
    EXPECT_EQ(error.code(), code) << settings;
    const std::string text = std::string(error.what()) + "; " + error.hint();
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

// Of one GPU, also where two do not reach each other, the link is the memory of the GPU: no measured number.
TEST(GpuCalibrate, OnlyTwoGpusThatReachEachOtherHaveALink) {
  const struct {
    const char *settings, *words;
    NumberOrigin origin;
  } cases[] = {{"times=planted devices=2", "measured: copy engines", NumberOrigin::kMeasured},
               {"times=planted devices=2 peer=0", "cannot reach each other's memory", NumberOrigin::kAssumed},
               {"times=planted", "no link between GPUs", NumberOrigin::kAssumed}};
  for (const auto& [settings, words, origin] : cases) {
    const FakeCuda fake(settings);
    const ClusterPreset preset = calibrate(short_calibration()).preset;
    for (const char* const number : {"network.link_gbps", "network.intra_latency_ns"}) {
      EXPECT_EQ(preset.origins.at(number), origin) << settings;
      EXPECT_NE(preset.sources.at(number).find(words), std::string::npos) << preset.sources.at(number);
    }
    EXPECT_EQ(preset.network.provenance,
              origin == NumberOrigin::kMeasured ? Provenance::kMeasured : Provenance::kAssumed);
  }
}

TEST(GpuCalibrate, LaunchesThatWaitAreRefused) {
  const FakeCuda fake("times=planted");
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const Error error = failure_with(short_calibration());
  unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(error.code(), ErrorCode::kUsage);
  EXPECT_EQ(error.hint(), "unset CUDA_LAUNCH_BLOCKING");
}

TEST(GpuCalibrate, SmsThatAreNotThereCannotBeTaken) {
  const FakeCuda fake("sms=80 times=planted");
  CalibrateOptions options = short_calibration();
  for (const int sms : {80, 81, -1}) {
    options.comm_sms = sms;
    EXPECT_EQ(failure_with(options).code(), ErrorCode::kUsage) << sms;
  }
  EXPECT_EQ(fake.launches(), 0);
}

TEST(GpuCalibrate, AnInterruptStopsIt) {
  const FakeCuda fake("times=planted");
  const std::atomic<bool> interrupt{true};
  CalibrateOptions options = short_calibration();
  options.interrupt = &interrupt;
  EXPECT_EQ(failure_with(options).code(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace spscope
