// Runs a test once for each instruction set that both the build and this processor have.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <hwy/targets.h>

namespace spscope::kernels {

inline std::vector<std::int64_t> supported_targets() { return hwy::SupportedAndGeneratedTargets(); }
inline std::string target_name(std::int64_t target) { return hwy::TargetName(target); }
// 0 brings back what the processor supports. Update makes the next dispatched call see the change.
inline void choose_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

class EachTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose_target(GetParam()); }
  void TearDown() override { choose_target(0); }
};

inline std::string target_of(const ::testing::TestParamInfo<std::int64_t>& info) { return target_name(info.param); }

}  // namespace spscope::kernels
