// Files of every kind: none may be waited for, and only regular ones open.
#include "backend/base/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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

TEST(RegularFile, OpensNothingElse) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink(folder.file("pipe").c_str(), folder.file("link").c_str()), 0);
  for (const std::string& path : {folder.file("pipe"), folder.file("link"), folder.file("absent"),
                                  folder.path().string(), std::string("/dev/null")}) {
    const RegularFile file(path);
    EXPECT_FALSE(file.is_open()) << path;
    EXPECT_FALSE(file.reason().empty()) << path;
  }
  EXPECT_EQ(RegularFile(folder / "pipe").reason(), "it is a named pipe");
}

}  // namespace
}  // namespace spscope
