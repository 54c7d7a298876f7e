// A run that is started again writes to a file of its own wherever the first has left something.
#include <gtest/gtest.h>

#include <filesystem>

#include "gui/views/run/run_view.h"
#include "tests/support/temporary_folder.h"

namespace spscope::gui {
namespace {

class RunAgain : public ::testing::Test {
 protected:
  // Where the run goes the second time, which its command must say, too.
  std::string again(const std::string& verb, const std::string& name) const {
    RunPages pages;
    QueuedRun run;
    run.title = name;
    run.out = folder_ / name;
    run.words = {"spscope", verb, "-o", run.out};
    run_again(pages, run);
    const QueuedRun& added = pages.queue.runs().back();
    EXPECT_EQ(added.words[3], added.out);
    return added.out;
  }

  TemporaryFolder folder_;
};

TEST_F(RunAgain, WhatIsThereStaysAndTheNewOutputLiesBesideIt) {
  EXPECT_EQ(again("run", "mine.db"), folder_ / "mine.db");
  folder_.write("mine.csv", "x");
  EXPECT_EQ(again("sweep", "mine.csv"), folder_ / "run-1.csv");
  // Recorded and not merged: `spscope recover` finds it in MINE.db.collecting only.
  std::filesystem::create_directory(folder_.path() / "mine.db.collecting");
  EXPECT_EQ(again("run", "mine.db"), folder_ / "run-1.db");
  folder_.write("mine.db", "x");
  folder_.write("run-1.db", "x");
  EXPECT_EQ(again("run", "mine.db"), folder_ / "run-2.db");
}

}  // namespace
}  // namespace spscope::gui
