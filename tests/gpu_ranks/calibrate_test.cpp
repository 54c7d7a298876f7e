// Calibration of a fake GPU: with planted times each number of the profile is the planted one, and attention ran beside
// the SMs that were held; what fails leaves no profile.
#include "backend/execute/calibrate/calibrate.h"

#include <gmock/gmock.h>
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
  for (const AttentionTime& t : found.attention) {
    const double rows = double{1} * t.heads * t.tokens, pairs = rows * t.tokens * t.density;
    expect_about(t.ms.value * 1e6, kAttendLaunchNs + kAttendRowNs * rows + kAttendPairNs * pairs * t.head_dim,
                 "a time");
  }
  EXPECT_EQ(found.attention.size(), static_cast<std::size_t>(found.attend.num_samples));
  EXPECT_LT(found.launch_gap_ns, 1);
  for (const auto& [number, spread] : found.spreads) {
    if (number.starts_with("cost.host_")) continue;
    EXPECT_LT(spread, 1e-4) << number;
  }
}

// 16 of 132 SMs are an eighth of them; the rest compute 132 / 116 times as long. Copy engines take none, and nothing is
// packed for them. Of one GPU, also where two do not reach each other, the link is its memory: no measured number.
TEST(GpuCalibrate, PlantedTimesAreFoundAgain) {
  const struct {
    const char* settings;
    Dtype dtype;
    std::optional<int> comm_sms;
    unsigned held;
    double slowdown, pack_ns;
    NumberOrigin link;
    const char* words;
  } cases[] = {
      {"sms=132", Dtype::kBf16, {}, 16, 132.0 / 116, 2 * kMoveByteNs, NumberOrigin::kAssumed, "no link between GPUs"},
      {"sms=132", Dtype::kFp32, {}, 16, 132.0 / 116, 2 * kMoveByteNs, NumberOrigin::kAssumed, "no link between GPUs"},
      {"sms=80", Dtype::kBf16, 20, 20, 80.0 / 60, 2 * kMoveByteNs, NumberOrigin::kAssumed, "no link between GPUs"},
      {"sms=132 devices=2", Dtype::kBf16, 0, 0, 1, 0, NumberOrigin::kMeasured, "both ways at once between two GPUs"},
      {"sms=132 devices=2 peer=0",
       Dtype::kBf16,
       {},
       16,
       132.0 / 116,
       2 * kMoveByteNs,
       NumberOrigin::kAssumed,
       "cannot reach each other's memory"}};
  for (const auto& [settings, dtype, comm_sms, held, slowdown, pack_ns, link, words] : cases) {
    SCOPED_TRACE(settings);
    const FakeCuda fake(std::string(settings) + " times=planted");
    CalibrateOptions options = short_calibration();
    options.dtype = dtype;
    options.comm_sms = comm_sms;
    const Calibration found = calibrate(options);
    expect_planted_costs(found);
    const ClusterPreset& preset = found.preset;
    expect_about(preset.network.compute_slowdown, slowdown, "compute_slowdown");
    expect_about(preset.cost.pack_ns_per_byte, pack_ns, "pack_ns_per_byte");
    EXPECT_EQ(preset.cost.attend_head_dim_multiple, dtype == Dtype::kBf16 ? 32 : 1);
    // One in each round, of a block for each SM that is held.
    EXPECT_EQ(fake.launches_of("spscope_hold", held), held > 0 ? 3 : 0);
    for (const char* const number : {"network.link_gbps", "network.intra_latency_ns"}) {
      EXPECT_EQ(preset.origins.at(number), link);
      EXPECT_NE(preset.sources.at(number).find(words), std::string::npos) << preset.sources.at(number);
    }
    const bool measured = link == NumberOrigin::kMeasured;
    EXPECT_EQ(preset.network.provenance, measured ? Provenance::kMeasured : Provenance::kAssumed);
    EXPECT_EQ(fake.fault(), "");
  }
}

TEST(GpuCalibrate, WhatFailsIsNamedWithItsPart) {
  const struct {
    const char* settings;
    std::vector<std::string> words;
  } cases[] = {
      {"refuse=spscope_attend_mma_64x64:5",
       {"spscope fake device", "attention kernel", "cuLaunchKernel of spscope_attend_mma_64x64", "OUT_OF_RESOURCES"}},
      {"fail=spscope_merge:1", {"copies, merges and finishes", "LAUNCH_FAILED"}},
      {"fail=spscope_hold:2", {"attention on fewer SMs", "LAUNCH_FAILED"}}};
  for (const auto& [settings, words] : cases) {
    const FakeCuda fake(std::string(settings) + " times=planted");
    const Error error = failure_with(short_calibration());
    EXPECT_EQ(error.code(), ErrorCode::kDeviceFailed) << settings;
    for (const std::string& word : words) EXPECT_THAT(error.what(), testing::HasSubstr(word));
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

}  // namespace
}  // namespace spscope
