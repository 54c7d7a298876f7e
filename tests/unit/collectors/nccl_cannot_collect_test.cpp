// Why nothing of NCCL can be collected in a process that NCCL has not loaded the plugin into, as this one.
#include <gmock/gmock.h>

#include <cstdlib>

#include "collectors/nccl/nccl_collector.h"

namespace spscope {
namespace {

TEST(NcclCannotCollect, SaysWhyUnlessNcclWillLoadThisProgram) {
  const std::pair<const char*, const char*> cases[] = {{"", "does not use NCCL"},
                                                       {"inspector", "loads the profiler inspector here"},
                                                       {"none", "unset it"},
                                                       {"STATIC_PLUGIN", "loads the profiler STATIC_PLUGIN here"},
                                                       {"/proc/self/exe", "it can"}};
  for (const auto& [plugin, why] : cases) {
    if (*plugin != '\0') ::setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
    EXPECT_THAT(nccl_cannot_collect().value_or("it can"), testing::HasSubstr(why));
  }
  ::unsetenv("NCCL_PROFILER_PLUGIN");
}

}  // namespace
}  // namespace spscope
