// Runs that are found by the notes beside their outputs.
#include "gui/launch/found_runs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
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

}  // namespace
}  // namespace spscope::gui
