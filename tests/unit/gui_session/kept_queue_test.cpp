// Runs that wait outlive the window that they wait in.
#include "gui/launch/kept_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

class KeptQueueOfWindows : public ::testing::Test {
 protected:
  static std::vector<QueuedRun> runs() {
    std::vector<QueuedRun> runs(3);
    runs[0].state = RunState::kRunning;
    runs[1].title = "it's \"b\".db";
    runs[1].words = {"spscope", "run", "-o", "/x/it's \"b\".db", "--progress=json"};
    runs[1].out = "/x/it's \"b\".db";
    runs[2].title = "advise";
    runs[2].words = {"spscope", "advise"};
    return runs;
  }
  // Keeps runs as another process, which ends at once.
  void keep_and_die(const std::vector<QueuedRun>& waiting) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(KeptQueue(folder_).keep(waiting).empty() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  TemporaryFolder temporary_;
  std::string folder_ = temporary_ / "waiting";
};

TEST_F(KeptQueueOfWindows, ThoseThatWaitedAreOfferedOnce) {
  keep_and_die(runs());
  const KeptQueue next(folder_);
  ASSERT_EQ(next.left("spscope").size(), 2U);
  EXPECT_EQ(next.left("spscope")[0], (KeptRun{runs()[1].title, runs()[1].out, runs()[1].words}));
  EXPECT_EQ(next.left("spscope")[1].words, runs()[2].words);
  EXPECT_EQ(next.take_left("spscope").size(), 2U);
  EXPECT_TRUE(next.left("spscope").empty());
  EXPECT_TRUE(next.take_left("spscope").empty());
}

TEST_F(KeptQueueOfWindows, ThoseOfAWindowThatIsThereAreItsOwn) {
  KeptQueue own(folder_);
  EXPECT_EQ(own.keep(runs()), "");
  EXPECT_TRUE(KeptQueue(folder_).left("spscope").empty());
  EXPECT_FALSE(fs::is_empty(folder_));
  EXPECT_EQ(own.keep({}), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(KeptQueueOfWindows, AFileStartsNoOtherProgram) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/waiting-1.json")
      << R"({"pid": 1, "runs": [{"words": ["/bin/sh", "-c", "touch x"]}, {"words": ["/bin/sh", "run", "-c"]},
                                {"words": ["spscope", "attach", "-o", "x.db", "--", "sh"]}]})";
  const std::vector<KeptRun> left = KeptQueue(folder_).take_left("/here/spscope");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].words, (std::vector<std::string>{"/here/spscope", "run", "-c"}));
}

TEST_F(KeptQueueOfWindows, DamagedFilesAndNoFolderAreNone) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/waiting-1.json") << "{\"pid\": 1, \"runs\": [{\"words\": [1, \"a\"]}, 5]}";
  std::ofstream(folder_ + "/waiting-2.json") << "{";
  std::ofstream(folder_ + "/waiting-3.json") << "[]";
  EXPECT_TRUE(KeptQueue(folder_).left("spscope").empty());
  EXPECT_TRUE(KeptQueue("").left("spscope").empty());
  EXPECT_EQ(KeptQueue("").keep(runs()), "");
}

TEST_F(KeptQueueOfWindows, AFolderThatCannotBeWrittenIsSaidOnce) {
  std::ofstream(folder_) << "no folder";
  KeptQueue own(folder_);
  EXPECT_NE(own.keep(runs()), "");
  auto fewer = runs();
  fewer.pop_back();
  EXPECT_EQ(own.keep(fewer), "");
}

}  // namespace
}  // namespace spscope::gui
