#include "backend/fit/fit_profile.h"

#include <gtest/gtest.h>

#include "backend/base/result.h"
#include "backend/fit/row_model.h"

namespace spscope {
namespace {

// Flux at three sizes on 1 to 8 H100.
std::vector<TimingRow> rows() {
  std::vector<TimingRow> rows;
  for (const int pixels : {1024, 2048, 4096})
    for (const int gpus : {1, 2, 4, 8}) {
      TimingRow row;
      row.id = std::to_string(pixels) + "/" + std::to_string(gpus);
      row.model = "FLUX.1-dev";
      row.gpu = "H100";
      row.width = row.height = pixels;
      row.gpus = row.ulysses = gpus;
      row.steps = 28;
      row.implementation = "compiled";
      row.seconds = 1;
      rows.push_back(row);
    }
  return rows;
}

// Times that a machine would take whose attention and matrix products are slower than the preset's by known factors.
std::vector<TimingRow> made_rows(double attention, double products) {
  std::vector<TimingRow> made = rows();
  for (TimingRow& row : made) {
    const RowModel model(row, "");
    ClusterPreset other = model.resolved();
    other.cost.attend_ns_per_pair_channel *= attention;
    other.cost.gemm_ns_per_flop *= products;
    row.seconds = model.seconds(other);
  }
  return made;
}

TEST(FitProfile, FindsTheNumbersThatATableWasMadeFrom) {
  const ProfileFit fit = fit_profile(made_rows(1.25, 1.15), "", "");
  const RowModel preset(rows().front(), "");
  EXPECT_NEAR(fit.preset.cost.attend_ns_per_pair_channel / preset.resolved().cost.attend_ns_per_pair_channel, 1.25,
              0.03);
  EXPECT_NEAR(fit.preset.cost.gemm_ns_per_flop / preset.resolved().cost.gemm_ns_per_flop, 1.15, 0.03);
  EXPECT_GT(fit.median_error_before, 0.1);
  EXPECT_LT(fit.median_error_after, 0.01);
  EXPECT_EQ(fit.preset.origins.at("cost.gemm_ns_per_flop"), NumberOrigin::kFitted);
  EXPECT_EQ(fit.preset.sources.at("cost.gemm_ns_per_flop").find("calibrate --fit, 1.1"), 0u);
}

TEST(FitProfile, FramesStepsAndPassesThatARowLeavesOutAreThoseOfThePreset) {
  TimingRow row = rows().front();
  row.model = "wan2.1-t2v-1.3b";
  row.width = 832, row.height = 480, row.frames = 81;
  TimingRow said = row;
  row.frames = row.steps = row.guidance_passes = 0;
  said.steps = 50, said.guidance_passes = 2;
  const RowModel left_out(row, ""), given(said, "");
  EXPECT_EQ(left_out.seconds(left_out.resolved()), given.seconds(given.resolved()));
}

TEST(FitProfile, ThePresetsOwnTimesChangeNothing) {
  const ProfileFit fit = fit_profile(made_rows(1, 1), "", "");
  for (const FittedNumber& number : fit.numbers) {
    EXPECT_NEAR(number.after / number.before, 1, 1e-6) << number.name;
    EXPECT_FALSE(number.moved) << number.name;
  }
  const ClusterPreset preset = RowModel(rows().front(), "").resolved();
  EXPECT_EQ(fit.preset.sources, preset.sources);
  EXPECT_EQ(fit.preset.origins, preset.origins);
}

Problem problem_of(const std::vector<TimingRow>& rows) {
  const auto fit = capture([&] { return fit_profile(rows, "", ""); });
  return fit ? Problem{} : fit.error().problems().front();
}

TEST(FitProfile, AProfileFarFromItsClusterIsRefusedWithTheRow) {
  std::vector<TimingRow> far = made_rows(1, 1);
  for (TimingRow& row : far) row.seconds *= 20;
  far[3].seconds *= 2;
  EXPECT_EQ(problem_of(far).field, far[3].id);
}

TEST(FitProfile, TimesOfTwoModelsAreRefusedWithTheirLines) {
  std::vector<TimingRow> mixed = rows();
  mixed.back().model = "SD3-medium";
  mixed.back().place = {"mine.csv", 13, 1};
  EXPECT_EQ(problem_of(mixed).field, "model");
  EXPECT_EQ(problem_of(mixed).place.line, 13);
}

}  // namespace
}  // namespace spscope
