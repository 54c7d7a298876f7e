// Calibration gives rates that a processor can have, for the instruction set in use.
#include "kernels/calibrate.h"

#include <gtest/gtest.h>

#include "tests/unit/kernels/target_fixture.h"

namespace spscope::kernels {
namespace {

class KernelCalibration : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, KernelCalibration, ::testing::ValuesIn(supported_targets()), target_of);

TEST_P(KernelCalibration, NamesTheInstructionSetInUse) { EXPECT_EQ(dispatched_target(), target_name(GetParam())); }

// From an unoptimised build on a slow core to two units of 64 lanes at 6 GHz; a loop that was optimised away is beyond.
TEST_P(KernelCalibration, FmaRateIsOneOfAProcessor) {
  const double gflop_per_s = measure_fma_gflop_per_s(1);
  EXPECT_GT(gflop_per_s, 0.005);
  EXPECT_LT(gflop_per_s, 1600);
}

TEST(CalibrateCopy, RateIsOneOfAMemory) {
  const double gbps = measure_copy_gbps(1 << 20, 2);
  EXPECT_GT(gbps, 0.05);
  EXPECT_LT(gbps, 2000);
}

}  // namespace
}  // namespace spscope::kernels
