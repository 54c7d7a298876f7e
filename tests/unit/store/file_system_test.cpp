// How much room a folder has.
#include "backend/base/file_system.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace spscope
