// Runs a test once for each instruction set that both the build and this processor have.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <hwy/targets.h>

namespace spscope::kernels {

inline std::vector<std::int64_t> supported_targets() { return hwy::SupportedAndGeneratedTargets(); }

inline std::string target_of(const ::testing::TestParamInfo<std::int64_t>& info) { return hwy::TargetName(info.param); }

class EachTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  // 0 brings back what the processor supports. Update makes the next dispatched call see the change.
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace spscope::kernels
