// Calibration: fits against known coefficients, the work of its experiments against the cost model, and one short run
// on this machine.
#include "backend/execute/calibrate/calibrate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "backend/base/result.h"
#include "backend/base/rng.h"
#include "backend/execute/calibrate/calibrate_experiment.h"
#include "backend/plan/verify.h"
#include "backend/schedule/cost.h"
#include "backend/strategies/strategy.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;

// A launch costs more than the smallest op's work, so that every coefficient shows in some sample.
constexpr double kLaunch = 20'000, kRow = 50, kPair = 0.04;

// Attention times of a machine with known costs; `noise` is the largest relative error of a point.
std::vector<FitSample> attend_samples(double launch, double row, double pair, double noise) {
  Rng rng(7);
  std::vector<FitSample> samples;
  for (double rows : {64.0, 256.0, 1024.0, 4096.0})
    for (double keys : {64.0, 512.0, 4096.0})
      for (double head_dim : {64.0, 128.0}) {
        const std::vector<double> terms = {1, rows, rows * keys * head_dim};
        const double exact = launch * terms[0] + row * terms[1] + pair * terms[2];
        samples.push_back({terms, exact * (1 + noise * (2 * rng.uniform() - 1))});
      }
  return samples;
}

// Coefficients that differ by orders of magnitude are found exactly, and in noise of three percent within ten.
TEST(CalibrateFit, RecoversCoefficients) {
  for (const auto& [noise, off] : {std::pair{0.0, 1e-6}, {0.03, 0.1}}) {
    const LinearFit fit = fit_non_negative(attend_samples(kLaunch, kRow, kPair, noise));
    EXPECT_THAT(fit.coefficients[0], DoubleNear(kLaunch, off * kLaunch));
    EXPECT_THAT(fit.coefficients[1], DoubleNear(kRow, off * kRow));
    EXPECT_THAT(fit.coefficients[2], DoubleNear(kPair, off * kPair));
    EXPECT_LT(fit.quality.max_relative_residual, noise == 0 ? 1e-6 : 0.07);
    EXPECT_GE(fit.quality.max_relative_residual, noise / 3);
    EXPECT_LE(fit.quality.median_relative_residual, fit.quality.max_relative_residual);
    EXPECT_EQ(fit.quality.num_samples, 24);
  }
}

TEST(CalibrateFit, ANegativeCoefficientBecomesZeroAndTheOthersStayBest) {
  // 10 x - 5: with the constant at zero, the best slope under relative residuals is sum(x/y) / sum((x/y)^2).
  const std::vector<FitSample> samples = {{{1, 1}, 5}, {{1, 2}, 15}, {{1, 4}, 35}};
  double ratio = 0, square = 0;
  for (const FitSample& s : samples) ratio += s.terms[1] / s.value, square += std::pow(s.terms[1] / s.value, 2);
  const LinearFit fit = fit_non_negative(samples);
  EXPECT_EQ(fit.coefficients[0], 0);
  EXPECT_THAT(fit.coefficients[1], DoubleNear(ratio / square, 1e-9));
}

TEST(CalibrateFit, TermsThatCannotBeToldApartStillFit) {
  const std::vector<FitSample> samples = {{{1, 2, 0}, 6}, {{2, 4, 0}, 12}, {{3, 6, 0}, 18}};
  const LinearFit fit = fit_non_negative(samples);
  EXPECT_THAT(fit.coefficients[0] + 2 * fit.coefficients[1], DoubleNear(6, 1e-9));
  EXPECT_EQ(fit.coefficients[2], 0);
  EXPECT_LT(fit.quality.max_relative_residual, 1e-9);
}

TEST(CalibrateFit, SlowDownIsUnderstoodAsTheScheduleAppliesIt) {
  // 10 ms of communication beside compute that slows by 1.25: 2 ms of work are not done meanwhile.
  EXPECT_THAT(slowdown_of(10, 2), DoubleNear(1.25, 1e-12));
  EXPECT_EQ(slowdown_of(10, 0), 1);
  EXPECT_EQ(slowdown_of(10, -3), 1);
  EXPECT_TRUE(std::isinf(slowdown_of(10, 10)));
}

// Times of exchanges of 16 KiB to 16 MiB by a link of this latency and bandwidth, with a relative error of each.
std::vector<FitSample> hop_samples(double latency_ns, double ns_per_byte, double noise) {
  Rng rng(3);
  std::vector<FitSample> samples;
  for (double bytes = 16 << 10; bytes <= 16 << 20; bytes *= 4)
    samples.push_back({{1, bytes}, (latency_ns + ns_per_byte * bytes) * (1 + noise * (2 * rng.uniform() - 1))});
  return samples;
}

std::optional<LinkNumbers> link_of_samples(const std::vector<FitSample>& samples) {
  return link_of(samples, fit_non_negative(samples));
}

TEST(CalibrateLink, ALinkIsFoundInNoise) {
  const auto link = link_of_samples(hop_samples(20'000, 0.25, 0.2));
  ASSERT_TRUE(link.has_value());
  EXPECT_THAT(link->gbps, DoubleNear(4, 0.8));
  EXPECT_THAT(link->latency_ns, DoubleNear(20'000, 8'000));
}

// Times that do not grow with the bytes, or that shrink, hold no bandwidth: none is made of a limit.
TEST(CalibrateLink, TimesWithoutBytesGiveNoBandwidth) {
  for (double noise : {0.0, 0.1, 0.3}) EXPECT_FALSE(link_of_samples(hop_samples(5e6, 0, noise)).has_value()) << noise;
  std::vector<FitSample> shrinking = hop_samples(20'000, 0.25, 0);
  for (std::size_t i = 0; i < shrinking.size() / 2; ++i)
    std::swap(shrinking[i].value, shrinking[shrinking.size() - 1 - i].value);
  EXPECT_FALSE(link_of_samples(shrinking).has_value());
}

// Of 500 calibrations, so many that find a link. Each size has a time of its own, off by a factor of about 1 + noise.
int links_found(double latency_ns, double ns_per_byte, double noise) {
  Rng rng(11);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<FitSample> samples = hop_samples(latency_ns, ns_per_byte, 0);
    for (FitSample& sample : samples) sample.value *= std::exp(noise * rng.normal());
    found += link_of_samples(samples).has_value();
  }
  return found;
}

TEST(CalibrateLink, LargeNoiseIsHardlyEverALinkAndHardlyEverHidesOne) {
  for (double noise : {0.3, 0.6, 1.0, 2.0}) EXPECT_LT(links_found(5e6, 0, noise), 40) << noise;
  for (double noise : {0.1, 0.3}) EXPECT_GT(links_found(60'000, 0.25, noise), 495) << noise;
}

// -- experiments

CalibrateOptions short_calibration() {
  CalibrateOptions options;
  options.seconds = 0;  // three rounds
  options.max_tokens = 512;
  options.max_message_bytes = 1 << 20;
  return options;
}

// What is wrong with the experiment's plan.
std::vector<std::string> problems_of(const Experiment& experiment) {
  Request request = experiment.request;
  define_outputs(request);
  std::vector<std::string> texts;
  for (const PlanProblem& problem : verify(experiment.plan, request)) texts.push_back(problem.text);
  return texts;
}

TEST(CalibrateExperiments, AttendTermsAreThoseOfTheCostModel) {
  const Series series = attend_series(cpu_sizes(short_calibration()), Dtype::kFp32);
  ASSERT_GE(series.points.size(), 6u);
  for (const Point& point : series.points) {
    const Experiment& experiment = series.experiments[point.experiment];
    const Op& op = experiment.plan.ops[static_cast<std::size_t>(point.op)];
    EXPECT_THAT(problems_of(experiment), IsEmpty());
    ASSERT_EQ(point.terms.size(), 3u);
    EXPECT_EQ(point.terms[0], 1);
    EXPECT_EQ(point.terms[1], static_cast<double>(attend_num_rows(experiment.plan, op)));
    EXPECT_EQ(point.terms[2], static_cast<double>(attend_area(experiment.plan, op)) * experiment.request.head_dim);
  }
}

TEST(CalibrateExperiments, MoveTermsAreThoseOfTheCostModelAndMeetEveryKind) {
  for (Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Series series = move_series(cpu_sizes(short_calibration()), dtype);
    std::vector<int> met(kNumPostKinds, 0);
    for (const Point& point : series.points) {
      const Plan& plan = series.experiments[point.experiment].plan;
      const Op& op = plan.ops[static_cast<std::size_t>(point.op)];
      ++met[static_cast<std::size_t>(plan.kind_of(op))];
      ASSERT_EQ(point.terms.size(), 1u);
      EXPECT_EQ(point.terms[0], static_cast<double>(bytes_touched(plan, op))) << post_kind_name(plan.kind_of(op));
      EXPECT_THAT(problems_of(series.experiments[point.experiment]), IsEmpty());
    }
    for (PostKind kind : {PostKind::kCopy, PostKind::kMerge, PostKind::kFinish})
      EXPECT_GT(met[static_cast<std::size_t>(kind)], 0) << post_kind_name(kind);
  }
}

TEST(CalibrateExperiments, ARingOfTwoSendsTheBytesThatWereAskedFor) {
  for (Hop hop : {Hop::kAfterCompute, Hop::kBesideCompute})
    for (Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
      const Experiment ring = ring_of_two(64 << 10, hop, 4, dtype);
      EXPECT_THAT(problems_of(ring), IsEmpty());
      EXPECT_EQ(bytes_sent(ring.plan), (std::vector<std::int64_t>{64 << 10, 64 << 10}));
      int waits_for_compute = 0;
      for_each_op(ring.plan, PostKind::kExchange,
                  [&](OpId, const Op& op) { waits_for_compute += !ring.plan.deps(op).empty(); });
      EXPECT_EQ(waits_for_compute, hop == Hop::kAfterCompute ? 2 : 0);
    }
}

TEST(CalibrateExperiments, PointsCollectARunOfEveryRound) {
  Series series = move_series(cpu_sizes(short_calibration()), Dtype::kFp32);
  run_series(series, 0, short_calibration());
  for (const Point& point : series.points) {
    EXPECT_EQ(point.runs_ns.size(), 6u);  // three rounds of two
    for (double ns : point.runs_ns) EXPECT_GT(ns, 0);
  }
}

// -- this machine

void expect_between(double value, double least, double most, const char* what) {
  EXPECT_GE(value, least) << what;
  EXPECT_LE(value, most) << what;
}

// One calibration for all that look at it: it takes seconds, and minutes under a sanitizer.
const Calibration& calibrated() {
  static const Calibration result = calibrate(short_calibration());
  return result;
}

TEST(Calibrate, NumbersOfThisMachineAreSaneAndTheirProfileReadsBackEqual) {
  const Calibration& result = calibrated();
  const ClusterPreset& local = result.preset;
  EXPECT_EQ(local.name, "local");
  EXPECT_EQ(local.network.provenance, Provenance::kMeasured);
  EXPECT_EQ(local.cost.provenance, Provenance::kMeasured);
  // Wide enough for a sanitized build on a busy machine, narrow enough to find a wrong unit.
  expect_between(local.cost.attend_ns_per_pair_channel, 1e-3, 20, "attend_ns_per_pair_channel");
  expect_between(local.cost.attend_ns(512, 512.0 * 512, 64), 1e4, 1e9, "attention of 512 tokens");
  expect_between(local.cost.small_tile, 1, 8, "small_tile");
  expect_between(local.cost.move_ns_per_byte, 1e-3, 50, "move_ns_per_byte");
  expect_between(local.cost.gemm_ns_per_flop, 1e-3, 50, "gemm_ns_per_flop");
  expect_between(local.network.link_gbps, 1e-2, 1e3, "link_gbps");
  expect_between(local.network.intra_latency_ns + 16e3 / local.network.link_gbps, 1e3, 1e8, "a hop of 16 KB");
  expect_between(local.network.compute_slowdown, 1, 100, "compute_slowdown");
  expect_between(local.device.memory_gbps, 0.1, 1e4, "memory_gbps");
  expect_between(local.device.memory_gib, 0.01, 1e5, "memory_gib");
  expect_between(result.fma_gflop_per_s, 0.1, 1e4, "fma_gflop_per_s");

  const std::string path = ::testing::TempDir() + "calibrated.toml";
  write_profile(path, local);
  auto read = read_profile(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(*read, local);
}

TEST(Calibrate, EveryNumberSaysWhereItIsFrom) {
  const Calibration& result = calibrated();
  ClusterPreset preset = result.preset, unset;
  for (const ClusterFieldRow& field : cluster_fields()) {
    const bool given = preset.sources.contains(std::string(field.name));
    EXPECT_TRUE(given || (!field.required && field.ref(preset) == field.ref(unset))) << field.name;
  }
  EXPECT_THAT(preset.sources.at("cost.gemm_ns_per_flop"), ::testing::StartsWith("measured: "));
  EXPECT_THAT(preset.sources.at("network.link_gbps"),
              ::testing::AnyOf(::testing::StartsWith("measured: fp32 exchanges"), "not measured: lost in noise"));
}

TEST(Calibrate, AnInterruptStopsIt) {
  std::atomic<bool> interrupt{true};
  CalibrateOptions options = short_calibration();
  options.interrupt = &interrupt;
  const std::optional<Error> error = failure_of([&] { calibrate_network(options); });
  EXPECT_TRUE(error && error->code() == ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace spscope
