// A run that is started again writes to a file of its own wherever the first has left something.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gui/views/run/run_view.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

class RunAgain : public ::testing::Test {
 protected:
  RunAgain() : folder_(fs::path(::testing::TempDir()) / "run-again") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunAgain() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void touch(const std::string& name) const { std::ofstream(at(name)) << "x"; }
  // Where the run goes the second time, which its command must say, too.
  std::string again(const std::string& verb, const std::string& name) const {
    RunPages pages;
    QueuedRun run;
    run.title = name;
    run.out = at(name);
    run.words = {"spscope", verb, "-o", run.out};
    run_again(pages, run);
    const QueuedRun& added = pages.queue.runs().back();
    EXPECT_EQ(added.words[3], added.out);
    return added.out;
  }

  fs::path folder_;
};

TEST_F(RunAgain, WithNothingLeftItIsTheSameFile) { EXPECT_EQ(again("run", "mine.db"), at("mine.db")); }

TEST_F(RunAgain, AnOutputStaysAndTheNewOneLiesBesideIt) {
  touch("mine.db");
  touch("run-1.db");
  EXPECT_EQ(again("run", "mine.db"), at("run-2.db"));
  touch("mine.csv");
  EXPECT_EQ(again("sweep", "mine.csv"), at("run-1.csv"));
}

// Recorded and not merged: `spscope recover` finds it in MINE.db.collecting only.
TEST_F(RunAgain, WhatWasRecordedAndNotMergedStays) {
  fs::create_directory(folder_ / "mine.db.collecting");
  EXPECT_EQ(again("run", "mine.db"), at("run-1.db"));
}

}  // namespace
}  // namespace spscope::gui
