// How much room a folder has.
#include "backend/base/file_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

TEST(FolderRoom, IsUnknownWhereTheSystemDoesNotSay) {
  EXPECT_FALSE(room_in("/proc").free_bytes) << "it has no blocks";
  EXPECT_FALSE(room_in("/no/such/folder").free_bytes);
  const TemporaryFolder folder;
  ASSERT_TRUE(room_in(folder.path().string()).free_bytes);
  EXPECT_GT(*room_in(folder.path().string()).free_bytes, 0);
  EXPECT_NE(room_in(folder.path().string()).device, room_in("/proc").device);
}

TEST(BytesOfFiles, AreThoseOfRegularFilesAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a") << "12345";
  std::ofstream(folder / "b") << "67";
  std::filesystem::create_directory(folder / "inner");
  std::ofstream(folder / "inner/c") << "not counted";
  std::filesystem::create_symlink("/no/such/file", folder / "dangling");
  EXPECT_EQ(bytes_of_files_in(folder.path().string()), 7);
  EXPECT_EQ(bytes_of_files_in(folder / "missing"), 0);
}

}  // namespace
}  // namespace spscope
