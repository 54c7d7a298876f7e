#include "backend/record/collect_windows.h"

#include <gtest/gtest.h>

#include <memory>

namespace spscope {
namespace {

constexpr std::int64_t kLead = CollectWindows::kLeadNs, kTail = CollectWindows::kTailNs, kOpen = CollectWindow::kOpen;
constexpr std::int64_t kBegin = 10'000'000'000, kEnd = kBegin + 5;

struct CollectWindowsTest : ::testing::Test {
  std::unique_ptr<CollectWindows> windows = std::make_unique<CollectWindows>();
};

TEST_F(CollectWindowsTest, CollectorsAreAtWorkALittleLongerThanAWindow) {
  EXPECT_FALSE(windows->need_events(kBegin));
  EXPECT_EQ(windows->next_change_ns(kBegin), kOpen);
  windows->open(kBegin);
  EXPECT_EQ(windows->next_change_ns(0), kBegin - kLead);
  EXPECT_FALSE(windows->need_events(kBegin - kLead - 1));
  EXPECT_TRUE(windows->need_events(kBegin - kLead));
  EXPECT_EQ(windows->next_change_ns(kBegin), kOpen);
  windows->close(kEnd);
  EXPECT_EQ(windows->next_change_ns(kBegin), kEnd + kTail);
  EXPECT_TRUE(windows->need_events(kEnd + kTail - 1));
  EXPECT_FALSE(windows->need_events(kEnd + kTail));
  EXPECT_EQ(windows->next_change_ns(kEnd + kTail), kOpen);
}

TEST_F(CollectWindowsTest, OneIsOpenAtATimeAndNoneEndsBeforeItBegins) {
  windows->close(5);
  EXPECT_EQ(windows->number(), 0u);
  windows->open(kBegin);
  windows->open(kBegin + 1);
  windows->close(7);
  windows->close(kEnd);
  EXPECT_EQ(windows->newest(), (CollectWindow{kBegin, kBegin}));
  EXPECT_FALSE(windows->contains(kBegin));
}

TEST_F(CollectWindowsTest, NoneIsForgottenBeforeItWasTaken) {
  constexpr auto kMost = static_cast<std::int64_t>(CollectWindows::kMost);
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      windows->open(100 + i * 10);
      windows->close(100 + i * 10 + 5);
    }
  };
  std::vector<CollectWindow> taken;
  std::uint64_t number = 0;
  add(0, kMost + 2);
  EXPECT_EQ(windows->refused(), 2u);
  windows->take_ended(number, taken);
  ASSERT_EQ(std::ssize(taken), kMost);
  EXPECT_EQ(taken.front(), (CollectWindow{100, 105}));
  add(kMost, kMost + 2);
  EXPECT_EQ(windows->refused(), 2u);
  EXPECT_TRUE(windows->contains(104)) << "older than all that are remembered";
  for (const std::int64_t begin : {std::int64_t{130}, 100 + (kMost + 1) * 10}) {
    EXPECT_TRUE(windows->contains(begin) && windows->contains(begin + 4));
    EXPECT_FALSE(windows->contains(begin + 5) || windows->contains(begin - 1));
  }
  windows->take_ended(number, taken);
  EXPECT_EQ(std::ssize(taken), kMost + 2);
  EXPECT_EQ(std::ssize(joined(taken, 3)), 3) << "all gaps are alike";
  EXPECT_EQ(joined({{40, 60}, {1, 5}, {5, 7}, {9, 10}, {50, 55}}, 2), (std::vector<CollectWindow>{{1, 10}, {40, 60}}));
}

}  // namespace
}  // namespace spscope
