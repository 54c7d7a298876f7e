// What belongs to somebody else, or is a link, stays. Other owners are played by root, who may give files away.
#include "backend/base/own_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/base/segment_folder.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

constexpr uid_t kNobody = 65534;
using Names = std::vector<std::string>;

TEST(OwnFiles, AFolderIsOfThisUserAloneAndNew) {
  const TemporaryFolder folder;
  const auto first = make_own_folder(folder / "run-"), second = make_own_folder(folder / "run-");
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  struct stat status = {};
  ASSERT_EQ(::stat(first->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  EXPECT_TRUE(is_own_folder(*first));
  EXPECT_FALSE(make_own_folder(folder / "absent/run-"));
}

TEST(OwnFiles, LinksAndFoldersOfOthersAreNotRemoved) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "mine");
  folder.write("mine/file", "kept");
  ASSERT_EQ(::symlink(folder.file("mine").c_str(), folder.file("link").c_str()), 0);
  remove_own_folder(folder / "link");
  EXPECT_TRUE(std::filesystem::exists(folder / "mine/file"));
  std::filesystem::create_directory(folder / "other");
  ASSERT_EQ(::symlink(folder.file("mine").c_str(), folder.file("other/link").c_str()), 0);
  remove_own_folder(folder / "other");
  EXPECT_EQ(folder.names(), (Names{"link", "mine"}));
  EXPECT_TRUE(std::filesystem::exists(folder / "mine/file"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder.file("mine").c_str(), kNobody, kNobody), 0);
  remove_own_folder(folder / "mine");
  EXPECT_TRUE(std::filesystem::exists(folder / "mine/file"));
}

TEST(OwnFiles, ANameStandsForAFileOnlyWhileItIsThere) {
  const TemporaryFolder folder;
  const int fd = ::open(folder.write("file", "x").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::symlink(folder.file("file").c_str(), folder.file("link").c_str()), 0);
  EXPECT_TRUE(names_file(folder / "file", fd));
  EXPECT_FALSE(names_file(folder / "link", fd));
  EXPECT_FALSE(names_file(folder.write("other", "x"), fd));
  std::filesystem::rename(folder / "other", folder / "file");
  EXPECT_FALSE(names_file(folder / "file", fd));
  ::close(fd);
}

TEST(SegmentFolder, LivesAsLongAsItsProcess) {
  const TemporaryFolder folder;
  const std::string parent = folder.path();
  {
    const SegmentFolder mine(parent);
    ASSERT_EQ(folder.names().size(), 1U);
    EXPECT_EQ(mine.path(), parent + "/" + folder.names().front());
    folder.write(folder.names().front() + "/segment", "bytes");
    // Neither this process nor another one takes it for left.
    SegmentFolder::remove_abandoned(parent);
    const pid_t child = ::fork();
    if (child == 0) {
      SegmentFolder::remove_abandoned(parent);
      const SegmentFolder other(parent);
      ::_exit(other.path().empty() ? 1 : 0);  // without its destructor, as when it is killed
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(std::filesystem::exists(mine.path() + "/segment"));
    EXPECT_EQ(folder.names().size(), 2U);
    SegmentFolder::remove_abandoned(parent);
    EXPECT_EQ(folder.names().size(), 1U);
  }
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EQ(SegmentFolder(folder / "absent").path(), "");
}

TEST(SegmentFolder, OfOthersAndUnderOtherNamesStay) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "spscope-run-abcdef");
  std::filesystem::create_directory(folder / "target");
  ASSERT_EQ(::symlink(folder.file("target").c_str(), folder.file("spscope_segments-link").c_str()), 0);
  folder.write("spscope_segments-file", "x");
  Names stay = {"spscope-run-abcdef", "spscope_segments-file", "spscope_segments-link", "target"};
  if (::geteuid() == 0) {
    std::filesystem::create_directory(folder / "spscope_segments-a");
    ASSERT_EQ(::chown(folder.file("spscope_segments-a").c_str(), kNobody, kNobody), 0);
    stay.insert(stay.begin() + 1, "spscope_segments-a");
  }
  SegmentFolder::remove_abandoned(folder.path());
  EXPECT_EQ(folder.names(), stay);
}

}  // namespace
}  // namespace spscope
