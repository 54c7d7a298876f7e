// Links: what is written reads back, and what cannot be read is refused with the part that is wrong.
#include "gui/session/link.h"

#include <gtest/gtest.h>

#include "backend/base/rng.h"

namespace spscope::gui {
namespace {

std::string random_text(Rng& rng, int longest, bool file) {
  static const std::string kOdd[] = {"%",  ",", "#",    "?",   "&",  "=", "+", " ", ":",
                                     "\n", "ä", "日本", "%2C", "..", "a", "b", "/", "0"};
  std::string text = file ? "/" : "";
  for (std::int64_t i = 1 + rng.below(longest); i > 0; --i) text += kOdd[rng.below(std::ssize(kOdd))];
  return text;
}

std::optional<int> perhaps(Rng& rng) {
  return rng.below(2) == 0 ? std::nullopt : std::optional(static_cast<int>(rng.below(1'000'000)));
}

std::int64_t random_time(Rng& rng) {
  std::int64_t most = 1;
  for (std::int64_t digits = rng.below(13); digits > 0; --digits) most *= 10;
  return rng.below(most);
}

Link random_link(Rng& rng) {
  Link link;
  for (std::int64_t i = rng.below(3); i > 0; --i) link.files.push_back(random_text(rng, 12, true));
  link.view = rng.below(2) == 0 ? "timeline" : "";
  for (std::int64_t i = rng.below(3); i > 0; --i)
    link.scope.strategies.push_back({static_cast<int>(rng.below(3)), random_text(rng, 6, false)});
  link.scope.layer = perhaps(rng);
  link.scope.step = perhaps(rng);
  link.scope.repeat = perhaps(rng);
  link.scope.whole_file = rng.below(2) == 0;
  for (int group = 0; group < 4; ++group)
    if (rng.below(3) == 0) link.scope.counters.push_back(group);
  if (rng.below(2) == 0)
    link.scope.what_if =
        WhatIf{{static_cast<int>(rng.below(3)), random_text(rng, 6, false)}, static_cast<TimeEditKind>(rng.below(6))};
  Selection& s = link.selection;
  if (rng.below(2) == 0) s.strategy = StrategyKey{static_cast<int>(rng.below(3)), random_text(rng, 6, false)};
  s.rank = perhaps(rng);
  s.op = perhaps(rng);
  s.head = perhaps(rng);
  if (rng.below(2) == 0) {
    const std::int64_t begin = random_time(rng);
    s.time = TimeRange{begin, begin + random_time(rng)};
  }
  if (rng.below(2) == 0) s.tile = {static_cast<int>(rng.below(5000)), static_cast<int>(rng.below(5000))};
  if (rng.below(2) == 0) s.name = random_text(rng, 9, false);
  return link;
}

TEST(Link, WhatIsWrittenReadsBack) {
  Rng rng(16);
  for (int i = 0; i < 2000; ++i) {
    const Link link = random_link(rng);
    const std::string text = link_text(link);
    ASSERT_EQ(text.find('\n'), std::string::npos) << text;
    const Result<Link> read = parse_link(text);
    ASSERT_TRUE(read.has_value()) << text << ": " << read.error().what();
    ASSERT_EQ(*read, link) << text << "\n" << link_text(*read);
  }
}

TEST(Link, TheOneOfTheDocumentation) {
  Link wanted;
  wanted.files = {"RUN.db"};
  wanted.view = "timeline";
  wanted.scope.strategies = {{0, "dbsp"}};
  wanted.scope.layer = 3;
  wanted.scope.step = 1;
  wanted.selection.time = TimeRange{1'200'000, 1'900'000};
  wanted.selection.rank = 5;
  wanted.selection.op = 12;
  EXPECT_EQ(*parse_link("RUN.db#timeline?s=dbsp&layer=3&step=1&t=1.2ms..1.9ms&rank=5&op=12"), wanted);
}

TEST(Link, GroupsOfCountersAreInOrderAndEachOnce) {
  EXPECT_EQ(parse_link("#timeline?time=file&counters=2,0,2,0")->scope.counters, (std::vector<int>{0, 2}));
}

TEST(Link, APathAloneIsTakenAsItIs) {
  EXPECT_EQ(parse_link("/a b/50%2C,done.db")->files, std::vector<std::string>{"/a b/50%2C,done.db"});
}

TEST(Link, ErrorsSayWhichPartIsWrongAndWhatItMayBe) {
  const std::pair<const char*, std::vector<const char*>> kCases[] = {
      {"#timeline?layer=x", {"layer=x", "whole number"}},
      {"#timeline?layer=-1", {"layer=-1", "whole number"}},
      {"#timeline?step=1.5", {"step=1.5", "whole number"}},
      {"#timeline?repeat=", {"repeat=", "whole number"}},
      {"#timeline?rank=99999999999", {"rank=", "whole number"}},
      {"#timeline?op=1a", {"op=1a", "whole number"}},
      {"#timeline?head=", {"head=", "whole number"}},
      {"#timeline?t=1..2", {"t=1..2", "range of times"}},
      {"#timeline?t=2ms..1ms", {"t=2ms..1ms", "range of times"}},
      {"#timeline?t=1ms", {"t=1ms", "range of times"}},
      {"#timeline?time=later", {"time=later", "file or pass"}},
      {"#timeline?tile=1", {"tile=1", "block numbers"}},
      {"#timeline?tile=1,2,3", {"tile=1,2,3", "block numbers"}},
      {"#timeline?whatif=evenly_spread",
       {"whatif=evenly_spread", "a strategy, a comma and one of none, evenly_spread"}},
      {"#timeline?whatif=ring,slower", {"whatif=ring,slower", "faster_links"}},
      {"#timeline?counters=0,power", {"counters=0,power", "numbers of groups of counters such as 0,1"}},
      {"#timeline?colour=red", {"colour", "not known"}},
      {"#timeline?layer", {"layer=", "whole number"}}};
  for (const auto& [text, words] : kCases) {
    const Result<Link> link = parse_link(text);
    ASSERT_FALSE(link.has_value()) << text;
    for (const char* word : words)
      EXPECT_NE(std::string(link.error().what()).find(word), std::string::npos) << text << ": " << link.error().what();
    EXPECT_FALSE(link.error().hint().empty()) << text;
  }
}

TEST(Link, TimesAreExact) {
  EXPECT_EQ(time_text(0), "0ns");
  EXPECT_EQ(time_text(1), "1ns");
  EXPECT_EQ(time_text(1'200'000), "1.2ms");
  EXPECT_EQ(time_text(-1'500), "-1.5us");
  EXPECT_EQ(time_text(12'000'000'001), "12.000000001s");
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t ns = random_time(rng);
    ASSERT_EQ(parse_time(time_text(ns)), ns) << time_text(ns);
  }
  for (const char* wrong : {"", "1", "ms", "1 ms", "1e400s", "nan", "1m"})
    EXPECT_EQ(parse_time(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace spscope::gui
