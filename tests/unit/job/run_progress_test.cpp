// Where a run is: what people and programs read of it, what is told of the time that is left, and the page that takes
// it to those who look on.
#include "backend/collect/run_progress.h"

#include <gtest/gtest.h>

#include <fstream>

#include "backend/base/clock.h"
#include "backend/collect/progress_page.h"
#include "backend/job/progress_count.h"
#include "backend/strategies/strategy.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

RunProgress running() {
  RunProgress p;
  p.phase = "run", p.strategy = "usp", p.label = "usp u4 r2";
  p.strategy_number = 2, p.strategies = 5;
  p.layer = 2, p.layers = 40, p.denoise_step = 0, p.denoise_steps = 1;
  p.warmups_done = 1, p.warmups = 1, p.repeat = 3, p.repeats = 5;
  p.done = 11, p.total = 200, p.elapsed_s = 72, p.eta_s = 7384;
  return p;
}

TEST(RunProgress, SaysWhereTheRunIs) {
  RunProgress p = running();
  EXPECT_EQ(progress_text(p), "running usp u4 r2 (2 of 5), layer 3 of 40, repeat 4 of 5");
  EXPECT_EQ(time_text(p), "1:12, about 2:03:04 left");
  p.warmups_done = 0, p.denoise_steps = 2000;
  EXPECT_EQ(progress_text(p), "running usp u4 r2 (2 of 5), layer 3 of 40, denoise step 1 of 2,000, warm-up 1 of 1");
  p.phase = "check", p.layers = p.denoise_steps = 1, p.eta_s.reset();
  EXPECT_EQ(progress_text(p), "checking outputs of usp u4 r2 (2 of 5)");
  EXPECT_EQ(time_text(p), "1:12");
}

// What was told to be left is used up: then nobody knows.
TEST(RunProgress, TellsNoTimeThatIsOver) {
  RunProgress p = running();
  p.eta_s = 30, p.said_ns = 0;
  EXPECT_EQ(time_text(moved_on(p, 10 * kSecond)), "1:22, about 20 s left");
  EXPECT_EQ(time_text(moved_on(p, 31 * kSecond)), "1:43");
}

// Two strategies over three layers; planning takes 1 s.
class Count : public ::testing::Test {
 protected:
  Count() {
    job_.layers = {0, 1, 2};
    job_.config.run.warmup = 1, job_.config.run.repeats = 2;
    job_.strategies = {{"ring", find_strategy("ring"), {}}, {"ulysses", find_strategy("ulysses"), {}}};
    count_.emplace([this](const RunProgress& p) { said_.push_back(p); }, job_, 2, [this] { return now_ns_; });
  }
  void pass_seconds(int seconds) { now_ns_ += seconds * kSecond; }
  void plan(int strategy, int seconds_a_pass) {
    const std::string& id = job_.strategies[static_cast<std::size_t>(strategy)].id;
    count_->say("plan", strategy, id, "label");
    pass_seconds(1);
    count_->say("run", strategy, id, "label");
    for (int pass = 1; pass <= 3; ++pass) {
      pass_seconds(seconds_a_pass);
      count_->say_passes(pass, 3);
    }
  }

  Job job_;
  std::int64_t now_ns_ = 5 * kSecond;
  std::optional<ProgressCount> count_;
  std::vector<RunProgress> said_;
};

TEST_F(Count, TellsWhatIsLeftFromWhatWas) {
  count_->begin_layer(0, 0);
  pass_seconds(1);
  plan(0, 2);
  const auto told = [&](const char* phase, int repeat) {
    for (const RunProgress& p : said_)
      if (p.phase == phase && p.warmups_done + p.repeat == repeat) return p.eta_s;
    return std::optional(-1.0);
  };
  EXPECT_FALSE(told("input", 0));
  EXPECT_FALSE(told("run", 0));
  // After one pass: a plan takes 1 + 3 x 2 = 7 s, six of them 42 s; 3 s are over, and two layers wait 1 s each.
  EXPECT_DOUBLE_EQ(*told("run", 1), 42 - 3 + 2);
  count_->end_plan(0, true);
  plan(1, 4);  // 13 s
  count_->end_plan(1, true);
  count_->begin_layer(0, 1);
  EXPECT_DOUBLE_EQ(*said_.back().eta_s, 2 * (7 + 13) + 2 * 1);
}

// The first plan of a strategy that takes longer than those of the others did: nobody knows how long.
TEST_F(Count, TellsNothingThatHasProvenWrong) {
  count_->begin_layer(0, 0);
  plan(0, 2);
  count_->end_plan(0, true);
  count_->say("plan", 1, "ulysses", "ulysses");
  EXPECT_TRUE(said_.back().eta_s);
  pass_seconds(8);
  count_->say("plan", 1, "ulysses", "ulysses");
  EXPECT_FALSE(said_.back().eta_s);
}

// Where plans are made and nothing runs, one strategy says nothing of another.
TEST_F(Count, PlansThatAreOnlyMadeAreNotAlike) {
  count_->begin_layer(0, 0);
  count_->say("plan", 0, "ring", "ring");
  pass_seconds(1);
  count_->end_plan(0, true);
  count_->say("plan", 1, "ulysses", "ulysses");
  EXPECT_FALSE(said_.back().eta_s);
  pass_seconds(3);
  count_->end_plan(1, true);
  count_->begin_layer(0, 1);
  EXPECT_DOUBLE_EQ(*said_.back().eta_s, 2 * 4);
}

// An illegal strategy is over at once and takes no time later.
TEST_F(Count, IllegalStrategiesTakeNoTime) {
  count_->begin_layer(0, 0);
  count_->end_plan(0, false);
  plan(1, 2);
  count_->end_plan(1, true);
  count_->say("input");
  EXPECT_DOUBLE_EQ(*said_.back().eta_s, 2 * 7);
  EXPECT_EQ(said_.back().done, 2);
}

TEST(ProgressPage, TakesWhatIsSaidToThoseWhoLookOn) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.progress";
  ProgressReader reader(path);
  EXPECT_FALSE(reader.read());
  const ProgressPage page(path);
  EXPECT_FALSE(reader.read());  // nothing was said yet
  RunProgress p = running();
  p.said_ns = now_ns();
  page.write(p);
  ASSERT_TRUE(reader.read());
  EXPECT_EQ(progress_json(*reader.read()).dump(), progress_json(p).dump());
  page.set_cause("rank 3 ended", 3);
  std::filesystem::remove(path);  // as the folder of a run goes
  page.set_end(1);
  EXPECT_EQ(reader.read()->cause, "rank 3 ended");
  EXPECT_EQ(reader.read()->cause_rank, 3);
  EXPECT_EQ(reader.read()->exit_code, 1);
  EXPECT_EQ(reader.read()->label, "usp u4 r2");
}

class PageOfRun : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.progress";
  const ProgressPage page_{path_};
  ProgressReader reader_{path_};
};

TEST_F(PageOfRun, CutsACauseThatFindsNoRoomBetweenCharacters) {
  for (const std::string part : std::initializer_list<const char*>{"\x01", "\"", "\u00e4", "\U0001f600"}) {
    std::string cause = "x";
    while (cause.size() < 5000) cause += part;
    page_.write(running());
    page_.set_cause(cause, 3);
    page_.set_end(1);
    const std::optional<RunProgress> said = reader_.read();
    ASSERT_TRUE(said);
    EXPECT_EQ(said->exit_code, 1);
    EXPECT_GT(said->cause.size(), 200u);
    EXPECT_EQ(said->cause, cause.substr(0, said->cause.size()));
    EXPECT_EQ((said->cause.size() - 1) % part.size(), 0u);
  }
}

TEST_F(PageOfRun, HalfWrittenIsNone) {
  page_.write(running());
  ASSERT_TRUE(reader_.read());
  std::fstream(path_, std::ios::in | std::ios::out).seekp(60) << '#';
  EXPECT_FALSE(reader_.read());
  std::filesystem::resize_file(path_, 100);
  EXPECT_FALSE(reader_.read());
}

}  // namespace
}  // namespace spscope
