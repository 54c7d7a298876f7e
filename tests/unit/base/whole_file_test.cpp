// A WholeFile leaves the new content, or the old file and nothing else.
#include "backend/base/whole_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WholeFile, ReplacesAnOlderFileAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  write_whole_file(folder.file("a"), "a longer first content");
  write_whole_file(folder.file("a"), "second");
  EXPECT_EQ(content(folder.file("a")), "second");
  WholeFile file(folder.file("a"));
  file.write("third");
  file.publish();  // without a flush
  EXPECT_EQ(content(folder.file("a")), "third");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(WholeFile, IsNotThereBeforeItIsComplete) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  WholeFile file(path);
  file.write("one ");
  EXPECT_FALSE(std::filesystem::exists(path));
  file.write(std::string_view("two\0three", 9));
  file.commit();
  EXPECT_EQ(content(path), std::string("one two\0three", 13));
}

TEST(WholeFile, OfAnAbandonedTryLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_whole_file(folder.file("a"), "old");
  { WholeFile(folder.file("a")).write("half"); }
  EXPECT_EQ(content(folder.file("a")), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(WholeFile, DevicesAndPipesStayWhatTheyAre) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto result = capture([&] { return write_whole_file(folder.file("pipe"), "x"), 0; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kOutputPlace);
  EXPECT_THAT(result.error().what(), HasSubstr("a device or a pipe"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder.file("pipe")));
}

TEST(WholeFile, FailureNamesThePathAndWhatToDo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("taken"));
  for (const char* name : {"taken", "no/such/folder"}) {
    const auto result = capture([&] { return write_whole_file(folder.file(name), "x"), 0; });
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code(), ErrorCode::kOutputPlace);
    EXPECT_THAT(result.error().what(), HasSubstr(folder.file(name)));
    EXPECT_THAT(result.error().hint(), HasSubstr("existing, writable folder"));
  }
  EXPECT_THAT(folder.names(), ElementsAre("taken"));
}

TEST(WholeFile, WhatAKilledProcessOfTheSameIdLeftIsNotInTheWay) {
  const TemporaryFolder folder;
  const std::string left = "a.tmp-" + std::to_string(getpid()) + "-0";
  std::ofstream(folder.file(left)) << "left";
  write_whole_file(folder.file("a"), "new");
  EXPECT_EQ(content(folder.file("a")), "new");
  EXPECT_EQ(content(folder.file(left)), "left");
}

}  // namespace
}  // namespace spscope
