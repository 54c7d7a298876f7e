// A WholeFile leaves the new content, or the old file and nothing else.
#include "backend/base/whole_file.h"

#include <gmock/gmock.h>
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

TEST(WholeFile, ReplacesAnOlderFileOnlyWhenItIsComplete) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_whole_file(path, "a longer first content");
  { WholeFile(path).write("half"); }
  EXPECT_EQ(content(path), "a longer first content");
  WholeFile committed(path), published(path);
  committed.write("one ");
  committed.write(std::string_view("two\0three", 9));
  EXPECT_EQ(content(path), "a longer first content");
  committed.commit();
  EXPECT_EQ(content(path), std::string("one two\0three", 13));
  published.write("third");
  published.publish();  // without a flush
  EXPECT_EQ(content(path), "third");
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
