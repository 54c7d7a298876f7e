// A line that is read while its lane writes it is never a mixture of two states.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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

}  // namespace
}  // namespace spscope
