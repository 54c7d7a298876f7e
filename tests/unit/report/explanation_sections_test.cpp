// Which strategies `spscope explain` shows, where times compare and where they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/report/explain.h"

namespace spscope {
namespace {

TEST(ExplanationSections, ShowTheFastestAndTheOneWhoseRanksWaitLongest) {
  Explanation explanation;
  for (const auto& [id, ns] :
       {std::pair("a", 5'000), std::pair("b", 3'000), std::pair("c", 9'000), std::pair("d", 4'000)}) {
    StrategyExplanation& e = explanation.strategies.emplace_back();
    e.id = e.label = id;
    e.makespan_ns = ns;
    e.edits_missing = "nothing is kept";
  }
  const auto shown = [&](ShownStrategies which) {
    std::vector<std::string> titles;
    for (const Section& section : explanation_sections(explanation, which)) titles.push_back(section.title);
    return std::vector(titles.begin() + 2, titles.end());
  };
  EXPECT_THAT(shown(ShownStrategies::kTwo), ::testing::ElementsAre("b", "c")) << "nobody waits: the slowest";
  explanation.strategies[3].mean_terms[TimeTerm::kLatePeer] = 2;
  EXPECT_THAT(shown(ShownStrategies::kTwo), ::testing::ElementsAre("b", "d"));
  EXPECT_THAT(shown(ShownStrategies::kAll), ::testing::ElementsAre("a", "b", "c", "d"));
}

}  // namespace
}  // namespace spscope
