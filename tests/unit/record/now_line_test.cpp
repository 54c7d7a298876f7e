// A line that is read while its lane writes it is never a mixture of two states.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend/base/error.h"
#include "backend/record/now_page.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// Every field follows from one number, so a mixture shows.
LaneNow state_of(std::int64_t i) {
  LaneNow now;
  now.state = static_cast<LaneState>(i % kNumLaneStates);
  now.op = static_cast<OpId>(i % 1'000'003);
  now.sequence = static_cast<std::int32_t>(i % 1'000'003);
  now.run = RunId{i};
  now.peer = static_cast<int>(i % 1'000'003);
  now.repeat = static_cast<int>(i % 1000) - 1;
  now.bytes = i;
  now.begin_ns = i;
  now.sent = i;
  now.dropped = i / 2;
  now.waits_for = static_cast<OpId>(i % 1'000'003) - 1;
  return now;
}

TEST(NowLine, AReaderSeesOneStateOrAnother) {
  const TemporaryFolder folder;
  NowPageWriter page(folder / "page.now", this_process(3, 1, 2, {}));
  page.line(3, 1).publish(state_of(1));
  std::atomic<bool> enough{false};
  std::thread lane([&] {
    for (std::int64_t i = 2; !enough.load(std::memory_order_relaxed); ++i) page.line(3, 1).publish(state_of(i));
  });
  std::int64_t last = 0;
  int whole = 0;
  for (int i = 0; i < 3000; ++i) {
    const NowPage::Line line = read_now_page(page.path()).lines.at(1);
    EXPECT_EQ(line.rank, 3);
    EXPECT_EQ(line.lane, 1);
    if (!line.whole) continue;
    ++whole;
    const auto number = static_cast<std::int64_t>(line.now.run);
    EXPECT_EQ(line.now, state_of(number));
    EXPECT_GE(number, last);
    last = number;
  }
  enough = true;
  lane.join();
  EXPECT_GT(whole, 0);
  EXPECT_TRUE(read_now_page(page.path()).lines.at(1).whole);
}

// Another process maps the page; a beat changes nothing but the generation.
TEST(NowLine, AViewSeesTheLinesOfItsPage) {
  const TemporaryFolder folder;
  NowPageWriter page(folder / "page.now", this_process(3, 2, 2, {}));
  const NowPageView view(page.path());
  EXPECT_EQ(view.line(2, 0), nullptr);
  EXPECT_EQ(view.line(5, 0), nullptr);
  EXPECT_EQ(view.line(3, 2), nullptr);
  ASSERT_NE(view.line(4, 1), nullptr);
  EXPECT_EQ(view.line(4, 1)->read(), LaneNow());
  page.line(4, 1).publish(state_of(5));
  EXPECT_EQ(view.line(4, 1)->read(), state_of(5));
  EXPECT_EQ(view.line(4, 0)->read(), LaneNow());
  const std::uint64_t before = view.line(4, 1)->generation();
  page.line(4, 1).beat();
  EXPECT_GT(view.line(4, 1)->generation(), before);
  EXPECT_EQ(view.line(4, 1)->read(), state_of(5));
  EXPECT_EQ(read_now_page(page.path()).lines.at(3).now, state_of(5));
  EXPECT_THROW(NowPageView(folder / "none.now"), Error);
}

TEST(NowLine, AMirrorHasTheGenerationOfItsOriginal) {
  NowLine original, mirror;
  for (int i = 1; i < 4; ++i) original.publish(state_of(i));
  mirror.mirror(original.read(), original.generation());
  EXPECT_EQ(mirror.read(), state_of(3));
  EXPECT_EQ(mirror.generation(), original.generation());
}

}  // namespace
}  // namespace spscope
