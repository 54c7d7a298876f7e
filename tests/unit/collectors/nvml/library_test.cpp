#include "collectors/nvml/library.h"

#include <gmock/gmock.h>

#include "backend/base/result.h"
#include "tests/unit/collectors/nvml/fake_nvml.h"

namespace spscope::nvml {
namespace {

using testing::HasSubstr;

TEST(NvmlLibrary, OneThatIsMissingOrNoneIsNamedWithItsRemedy) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"/nowhere/libnvidia-ml.so.1", "/nowhere/libnvidia-ml.so.1", "install NVIDIA's driver"},
      {"libc.so.6", "NVIDIA's NVML has no nvmlErrorString: libc.so.6", "driver from R450"}};
  for (const auto& [path, what, hint] : cases) {
    const std::optional<Error> error = failure_of([&path = path] { const Library library(path); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
    EXPECT_THAT(error->what(), HasSubstr(what));
    EXPECT_THAT(error->hint(), HasSubstr(hint));
  }
}

TEST(NvmlLibrary, EachReasonThatItDoesNotStartHasItsRemedy) {
  FakeNvml fake;
  const std::pair<const char*, const char*> cases[] = {
      {"fail=nvmlInit_v2:9", "modprobe nvidia"},
      {"fail=nvmlInit_v2:18", "the driver was updated while its kernel module ran: reboot"},
      {"fail=nvmlInit_v2:4", "mode of /dev/nvidia*"},
      {"fail=nvmlInit_v2:15", "nvidia-smi --gpu-reset"},
      {"fail=nvmlInit_v2:17", "cgroup"},
      {"fail=nvmlInit_v2:999", "dmesg"}};
  for (const auto& [settings, hint] : cases) {
    fake.reset(settings);
    const std::optional<Error> error = failure_of([&] { const Library library(fake.path()); });
    ASSERT_TRUE(error) << settings;
    EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
    EXPECT_THAT(error->what(), HasSubstr("nvmlInit_v2 failed with "));
    EXPECT_THAT(error->hint(), HasSubstr(hint));
  }
}

}  // namespace
}  // namespace spscope::nvml
