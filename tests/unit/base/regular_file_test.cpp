#include "backend/base/regular_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

TEST(RegularFile, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  RegularFile file(folder.write("text", "0123456789"));
  ASSERT_TRUE(file.is_open());
  EXPECT_TRUE(file.is_ours());
  EXPECT_EQ(file.read(10), "0123456789");
  EXPECT_EQ(file.read(9), std::nullopt);
  EXPECT_FALSE(file.reason().empty());
  ASSERT_EQ(::symlink(folder.file("text").c_str(), folder.file("link").c_str()), 0);
  EXPECT_TRUE(RegularFile(folder / "link").is_open());
}

}  // namespace
}  // namespace spscope
