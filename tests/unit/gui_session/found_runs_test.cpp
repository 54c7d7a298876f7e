// Runs that are found by the notes beside their outputs, and runs that wait, which outlive their window.
#include "gui/launch/found_runs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "backend/collect/collection.h"
#include "gui/launch/kept_queue.h"
#include "gui/launch/presets.h"
#include "gui/session/settings.h"
#include "tests/support/temporary_folder.h"

namespace spscope::gui {
namespace {

class FoundRuns : public ::testing::Test {
 protected:
  std::string out() const { return folder_ / "run.db"; }
  std::string scratch() const { return folder_.path().string(); }
  std::vector<FoundRun> found() const { return find_runs({folder_.path().string(), "/no/such/folder"}); }
  // As if another process had made it, which is gone.
  static void let_die(CollectingNote note) {
    ++note.start_ticks;
    rewrite_collecting(note);
  }

  TemporaryFolder folder_;
};

TEST_F(FoundRuns, OneThatGoesOnUntilItEndsWell) {
  {
    const Collection collection(out(), scratch(), 2, 0);
    const std::vector<FoundRun> runs = found();
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].note.out, out());
    EXPECT_EQ(runs[0].state, CollectorState::kRuns);
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(FoundRuns, OneThatDiedUntilItIsRecovered) {
  Collection collection(out(), scratch(), 2, 0);
  let_die(collection.note());
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].state, CollectorState::kEnded);
  EXPECT_FALSE(stop_run(found()[0].note));  // nobody gets a signal
  mark_recovered(collection.note(), out());
  EXPECT_EQ(found().size(), 1U);  // the file is not there
  folder_.write("run.db", "recovered");
  EXPECT_TRUE(found().empty());
}

// A pipe would be waited for, and a device read without end: presets, settings, queues and notes of the window's
// folders.
TEST_F(FoundRuns, NothingIsReadThatIsNoRegularFile) {
  const std::string beginning = folder_.path().string() + "/waiting-";
  for (const char* kind : {".toml", ".json", ".db.collecting"}) {
    ASSERT_EQ(::mkfifo((beginning + "pipe" + kind).c_str(), 0600), 0);
    ASSERT_EQ(::symlink("/dev/zero", (beginning + "device" + kind).c_str()), 0);
    ASSERT_EQ(::mkdir((beginning + "folder" + kind).c_str(), 0700), 0);
  }
  EXPECT_TRUE(presets_in({folder_.path().string()}).empty());
  EXPECT_TRUE(KeptQueue(folder_.path().string()).left("spscope").empty());
  EXPECT_TRUE(found().empty());
  for (const char* name : {"pipe.json", "device.json", "folder.json"})
    EXPECT_TRUE(load_settings(beginning + name).recent.empty());
}

TEST_F(FoundRuns, NotesThatAreDamagedAreLeftOut) {
  folder_.write("a.db.collecting", "{");
  folder_.write("b.db.collecting", std::string(100000, 'x'));
  EXPECT_TRUE(found().empty());
}

TEST_F(FoundRuns, FoldersAreThoseOfRunsAndOfRecentFiles) {
  Settings settings;
  settings.recent = {"/data/a.db", "/data/b.db", "c.db"};
  settings.add_run_folder("/runs");
  const std::vector<std::string> folders = folders_of_runs(settings);
  EXPECT_EQ(std::set<std::string>(folders.begin(), folders.end()),
            (std::set<std::string>{"/data", "/runs", std::filesystem::current_path().string()}));
  EXPECT_EQ(folders.size(), 3U);
}

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
