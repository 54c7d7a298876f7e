#include "backend/analysis/sentence.h"

#include <gtest/gtest.h>

#include "backend/analysis/reason.h"

namespace spscope {
namespace {

std::string words_of(const Sentence& sentence, const Mention& mention) {
  return sentence.text.substr(mention.begin, mention.end - mention.begin);
}

TEST(SentenceBuilder, NotesTheBytesOfWhatItNames) {
  const Subject ring{.strategy = "ring"}, rank{.strategy = "ring", .rank = 3};
  const Sentence inner = SentenceBuilder().add("für ").name("rank 3", rank).take();
  const Sentence whole = SentenceBuilder().name("ring r8", ring).add(" waits ").add(inner).add(".").take();
  EXPECT_EQ(whole.text, "ring r8 waits für rank 3.");
  ASSERT_EQ(whole.mentions.size(), 2u);
  EXPECT_EQ(words_of(whole, whole.mentions[0]), "ring r8");
  EXPECT_EQ(whole.mentions[0].subject, ring);
  EXPECT_EQ(words_of(whole, whole.mentions[1]), "rank 3");
  EXPECT_EQ(whole.mentions[1].subject, rank);
  EXPECT_TRUE(SentenceBuilder().name("", {.strategy = "ring"}).name("ring", {}).take().mentions.empty());
}

TEST(SentenceBuilder, JoinsNamesWithTheirSubjects) {
  const std::vector<Sentence> names = {SentenceBuilder().name("a", {.strategy = "x"}).take(),
                                       SentenceBuilder().name("bc", {.strategy = "y"}).take(),
                                       SentenceBuilder().name("d", {.strategy = "z"}).take()};
  const Sentence list = listed(names);
  EXPECT_EQ(list.text, "a, bc and d");
  EXPECT_EQ(list.mentions,
            (std::vector<Mention>{{0, 1, {.strategy = "x"}}, {3, 5, {.strategy = "y"}}, {10, 11, {.strategy = "z"}}}));
}

StrategyResult waiting(const std::vector<std::int64_t>& waited_for_ns) {
  StrategyResult s;
  s.id = "ulysses-2", s.label = "rank 1";  // a label that looks like a rank: nothing searches the text
  s.makespan_ns = 30'000'000;
  s.terms.emplace();
  (*s.terms)[TimeTerm::kLatePeer] = 30'000'000;
  s.waited_for_ns = waited_for_ns;
  s.times.compute_ns = {1, 4, 1};
  for (const auto& [layer, step, rank, excess] :
       {std::tuple(4, 0, 1, 0.2), std::tuple(4, 1, 1, 0.6), std::tuple(9, 1, 2, 0.4)}) {
    LayerResult result;
    result.layer = layer, result.denoise_step = step, result.slowest_rank = rank, result.slowest_excess = excess;
    s.by_layer.push_back(result);
  }
  return s;
}

StrategyResult fast() {
  StrategyResult s;
  s.id = "ring", s.makespan_ns = 10'000'000;
  s.terms.emplace();
  (*s.terms)[TimeTerm::kTiles] = 10'000'000;
  return s;
}

TEST(Reason, NamesStrategyLossAndTheRankOrTheBusiestOfSeveralAtTheWorstPass) {
  const std::pair<std::vector<std::int64_t>, const char*> cases[] = {{{0, 100, 0}, "rank 1"},
                                                                     {{0, 50, 50}, "the busiest one"}};
  for (const auto& [waited_for_ns, late] : cases) {
    const StrategyResult slow = waiting(waited_for_ns);
    const auto reason = reason_for(slow, fast());
    ASSERT_TRUE(reason.has_value());
    const Sentence s = reason_sentence(*reason, slow, fast());
    EXPECT_EQ(s.text, reason_text(*reason, slow, fast()));
    ASSERT_EQ(s.mentions.size(), 3u);
    EXPECT_EQ(s.mentions[0], (Mention{0, 6, {.strategy = "ulysses-2"}}));
    EXPECT_EQ(words_of(s, s.mentions[1]), "30.0 ms");
    EXPECT_EQ(s.mentions[1].subject, (Subject{.strategy = "ulysses-2", .cause = "late_rank"}));
    EXPECT_EQ(words_of(s, s.mentions[2]), late);
    EXPECT_EQ(s.mentions[2].subject, (Subject{.strategy = "ulysses-2", .rank = 1, .layer = 4, .denoise_step = 1}));
  }
}

}  // namespace
}  // namespace spscope
