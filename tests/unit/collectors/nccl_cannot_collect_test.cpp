// Why nothing of NCCL can be collected in a process that NCCL has not loaded the plugin into, as this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "collectors/nccl/nccl_collector.h"

namespace spscope {
namespace {

using testing::HasSubstr;

class NcclCannotCollect : public testing::Test {
 protected:
  ~NcclCannotCollect() override { ::unsetenv("NCCL_PROFILER_PLUGIN"); }
  static std::string why(const char* plugin) {
    if (plugin != nullptr) ::setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
    return nccl_cannot_collect().value_or("it can");
  }
};

TEST_F(NcclCannotCollect, WithoutNccl) { EXPECT_THAT(why(nullptr), HasSubstr("does not use NCCL")); }

TEST_F(NcclCannotCollect, WithAnotherProfiler) {
  EXPECT_THAT(why("inspector"), HasSubstr("loads the profiler inspector here"));
  EXPECT_THAT(why("none"), HasSubstr("unset it"));
  EXPECT_THAT(why("STATIC_PLUGIN"), HasSubstr("unset it")) << "this program has none";
}

TEST_F(NcclCannotCollect, ButWhenNcclWillLoadThisProgram) { EXPECT_EQ(why("/proc/self/exe"), "it can"); }

}  // namespace
}  // namespace spscope
