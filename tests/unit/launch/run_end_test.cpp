// What becomes of a run, by how it ended: the file, what the listener is told and in which order, the exit code.
#include "backend/launch/run_end.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backend/store/store_reader.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Listener final : public RunListener {
 public:
  void progress(const RunProgress&) override {}
  void note(const std::string&) override {}
  void warn(const std::string& line) override { said.push_back("warn " + line); }
  std::string warning_line(const std::string& line) const override { return line; }
  void silence() override {}
  void end_progress() override {}
  void file_made(const std::string& path) override { said.push_back("made " + path); }
  int show_result(const std::string& path, const std::string& wanted) override {
    said.push_back("show " + wanted);
    shown_incidents = static_cast<int>(StoreReader(path).incidents().size());
    return verdict;
  }
  void interrupted(const std::string& text) override { said.push_back("interrupted " + text); }
  void ended(const RunProgress& last) override { exit_code = last.exit_code; }

  std::vector<std::string> said;
  int verdict = kExitDone, shown_incidents = -1;
  std::optional<int> exit_code;
};

class EndOfRun : public ::testing::Test {
 protected:
  EndOfRun() : output_((std::filesystem::create_directory(scratch_), out_), {false, scratch_, 1, {}}) {
    RunShards shards(output_.note(), shards_options(setup_, 0, 0));
    shards.finish();
    end_.outcome = RunOutcome{2, 2, {}};
  }
  int finish() { return merge_and_report(output_, setup_, end_, page_, listener_); }
  Error error_of_finish() {
    const Result<int> code = capture([&] { return finish(); });
    return code ? Error(ErrorCode::kInternal, "it ended without an error") : code.error();
  }

  TemporaryFolder folder_;
  const std::string scratch_ = folder_ / "scratch", out_ = folder_ / "out.db";
  const Job job_;
  const RunSetup setup_{job_, out_, false, "", "test"};
  RunOutput output_;
  const ProgressPage page_{folder_ / "page"};
  Listener listener_;
  RunEnd end_;
};

TEST_F(EndOfRun, TheVerdictOfTheResultIsTheExitCode) {
  listener_.verdict = kExitUsage;
  EXPECT_EQ(finish(), kExitUsage);
  EXPECT_THAT(listener_.said, ElementsAre("made " + out_, "show " + out_));
  EXPECT_EQ(page_.read()->cause, "no strategy can run this workload");
}

TEST_F(EndOfRun, WithoutShardsThereIsNoFile) {
  end_.failure = Error(ErrorCode::kLaunch, "no ranks", "as before");
  end_.has_shards = false;
  EXPECT_EQ(error_of_finish().hint(), "as before");
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_THAT(listener_.said, IsEmpty());
}

TEST_F(EndOfRun, AnInterruptedRunShowsItsLayersAndFails) {
  end_.outcome->layer_passes_done = 1;
  EXPECT_EQ(finish(), kExitFailed);
  EXPECT_THAT(listener_.said, ElementsAre("made " + out_, "show " + out_,
                                          "interrupted interrupted: 1 of 2 layer passes were complete and are kept"));
}

TEST_F(EndOfRun, LostEventsAreAnErrorBehindTheResult) {
  end_.lost = Error(ErrorCode::kStoreWrite, "the disk is full");
  end_.outcome->layer_passes_done = 1;
  EXPECT_STREQ(error_of_finish().what(), "the disk is full");
  EXPECT_THAT(listener_.said, ElementsAre("made " + out_, "show " + out_, HasSubstr("interrupted")));
}

TEST_F(EndOfRun, LostEventsBeforeTheFirstLayerLeaveNoResult) {
  end_.lost = Error(ErrorCode::kStoreWrite, "the disk is full");
  end_.outcome->layer_passes_done = 0;
  EXPECT_EQ(error_of_finish().hint(), "0 events up to then are kept in " + out_);
  EXPECT_THAT(listener_.said, ElementsAre("made " + out_));
}

TEST_F(EndOfRun, RanksThatSaidWhyTheyFailedAreNotRepeated) {
  end_.outcome.reset();
  end_.exit_code = kExitUsage;
  EXPECT_EQ(finish(), kExitFailed);
  EXPECT_THAT(listener_.said, ElementsAre("made " + out_, "warn 0 events up to then are kept in " + out_));
}

TEST_F(EndOfRun, WhatALauncherKnowsIsInTheFile) {
  end_.incidents = {{1, -1, -1, std::nullopt, IncidentKind::kStopped, "rank 1 was stopped"}};
  EXPECT_EQ(finish(), kExitDone);
  EXPECT_EQ(listener_.shown_incidents, 1);
}

TEST_F(EndOfRun, AFailureIsSaidAlsoWhenNoFileCanBeMade) {
  end_.failure = Error(ErrorCode::kRankFailed, "rank 1 failed");
  std::filesystem::resize_file(output_.note().head_db(), 5000);
  EXPECT_EQ(error_of_finish().code(), ErrorCode::kStoreWrite);
  ASSERT_EQ(listener_.said.size(), 1u);
  EXPECT_THAT(listener_.said[0], HasSubstr("rank 1 failed"));
}

TEST_F(EndOfRun, ThePageKeepsTheFirstCause) {
  end_.failure = Error(ErrorCode::kRankFailed, "rank 1 failed");
  publish_cause(page_, end_);
  EXPECT_THROW(publish_end(page_, listener_, []() -> int { throw Error(ErrorCode::kStoreWrite, "the disk is full"); }),
               Error);
  EXPECT_EQ(page_.read()->cause, "rank 1 failed");
  EXPECT_EQ(page_.read()->exit_code, kExitFailed);
  EXPECT_EQ(listener_.exit_code, kExitFailed);
}

}  // namespace
}  // namespace spscope
