// The small units of backend/report.
#include <gmock/gmock.h>

#include "backend/report/explain.h"
#include "backend/report/format.h"
#include "backend/report/query_table.h"
#include "backend/report/refused.h"

namespace spscope {
namespace {

TEST(Format, DurationsHaveThreeDigitsAndTheLargestUnitThatFits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(812), "812 ns");
  EXPECT_EQ(duration_text(12'340), "12.3 us");
  EXPECT_EQ(duration_text(61'249'000), "61.2 ms");
  EXPECT_EQ(duration_text(2'500'000'000), "2.50 s");
  EXPECT_EQ(duration_text(4'120'000'000'000), "4,120 s");
  EXPECT_EQ(duration_text(-1'500), "-1.50 us");
}

TEST(Format, RoundingNeverShowsFourDigits) {
  EXPECT_EQ(duration_text(999'400), "999 us");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(9'996'000), "10.0 ms");
  EXPECT_EQ(duration_text(99'960'000), "100 ms");
}

TEST(Format, BytesAreDecimal) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1'000), "1.00 kB");
  EXPECT_EQ(bytes_text(338'688'000), "339 MB");
  EXPECT_EQ(bytes_text(1'354'752'000), "1.35 GB");
}

TEST(Format, MemoryIsBinary) {
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 1023))), "1,023 B");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 812'000'000))), "774 MiB");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 1'073'700'000))), "1.00 GiB");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 85'899'345'920))), "80.0 GiB");
}

TEST(Format, CountsHaveCommas) {
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(75'600), "75,600");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
}

TEST(Format, PercentsLoseTheirDecimalAboveTen) {
  EXPECT_EQ(percent_text(0.05), "5.0 %");
  EXPECT_EQ(percent_text(0.0994), "9.9 %");
  EXPECT_EQ(percent_text(0.355), "36 %");
}

TEST(Format, SpreadHasTheUnitAndDecimalsOfItsValue) {
  EXPECT_EQ(joined(cell_text(duration_cell(61'200'000, 400'000))), "61.2 ms ±0.4");
  EXPECT_EQ(joined(cell_text(duration_cell(1'250'000, 90'000))), "1.25 ms ±0.09");
}

TEST(Format, WhatIsNotKnownIsADashAndNeverZero) {
  EXPECT_EQ(cell_text(duration_cell({})).value, "–");
  EXPECT_EQ(cell_text(cell(Hint::kBytes, {})).value, "–");
}

TEST(Format, ChecksSayWhatWasFound) {
  EXPECT_EQ(cell_text(verdict_cell("passed", 2.9e-6)).value, "ok 2.9e-06");
  EXPECT_EQ(cell_text(verdict_cell("failed", 0.31)).value, "WRONG 3.1e-01");
  EXPECT_EQ(cell_text(verdict_cell("skipped", {})).value, "not checked");
}

TEST(Format, WidthCountsCodePoints) { EXPECT_EQ(display_width("±0.4"), 4); }

TEST(QueryTable, NumbersStandRightAndHaveTheirNumber) {
  QueryResult result;
  result.columns = {"name", "ns", "share"};
  result.rows = {{"attend", "12", "0.30000000000000004"}, {std::nullopt, std::nullopt, "1e300"}};
  result.kinds = {{ValueKind::kText, ValueKind::kInteger, ValueKind::kReal},
                  {ValueKind::kNull, ValueKind::kNull, ValueKind::kReal}};
  const Table whole = query_table(result, ValueTexts::kWhole);
  EXPECT_TRUE(whole.columns[0].left && !whole.columns[1].left && !whole.columns[2].left);
  EXPECT_FALSE(whole.rows[0].cells[0].number);
  EXPECT_EQ(whole.rows[0].cells[1].number, 12);
  EXPECT_EQ(whole.rows[0].cells[2].text, "0.30000000000000004");
  EXPECT_EQ(whole.rows[1].cells[1].text, "NULL");
  EXPECT_FALSE(whole.rows[1].cells[1].number);
  EXPECT_EQ(whole.rows[1].cells[2].number, 1e300);
  EXPECT_EQ(query_table(result, ValueTexts::kShort).rows[0].cells[2].text, "0.3");
}

TEST(QueryTable, LongTextsAreCutForPeopleAlone) {
  QueryResult result;
  result.columns = {"text"};
  result.rows = {{std::string(1000, 'x')}};
  result.kinds = {{ValueKind::kText}};
  EXPECT_EQ(query_table(result, ValueTexts::kWhole).rows[0].cells[0].text.size(), 1000u);
  EXPECT_EQ(query_table(result, ValueTexts::kShort).rows[0].cells[0].text, std::string(400, 'x') + "... (1000 bytes)");
}

StrategyResult refused(const char* name, ErrorCode code, const char* message, const char* hint) {
  StrategyResult s;
  s.name = s.label = name;
  s.problems = {{code, "", message, hint, {}}};
  return s;
}

std::string text_of(const std::vector<StrategyResult>& strategies) {
  std::vector<const StrategyResult*> pointers;
  for (const StrategyResult& s : strategies) pointers.push_back(&s);
  return refused_text(pointers);
}

TEST(Refused, StandTogetherWhereTheirReasonIsOne) {
  constexpr ErrorCode kOther = ErrorCode::kConfigConflict, kMemory = ErrorCode::kMemoryNeed;
  StrategyResult runs;
  runs.name = "cyclic";
  EXPECT_EQ(text_of({runs}), "");
  EXPECT_EQ(text_of({refused("dsp", kOther, "no axis", "x")}), "dsp (no axis)");
  EXPECT_EQ(
      text_of({refused("ulysses", kMemory, "needs 25 of 24 GiB", "it fits from 4 ranks"), runs,
               refused("dsp", kOther, "no axis", "x"),
               refused("ring", kMemory, "needs 26 of 24 GiB", "it fits from 4 ranks"),
               refused("snake", kOther, "no axis", "y"),
               refused("allgather_kv", kMemory, "needs 30 of 24 GiB", "fits from 8 ranks")}),
      "ulysses, ring, dsp, snake (no axis), allgather_kv. Each of ulysses and ring needs more memory than a GPU has. "
      "ulysses needs 25 of 24 GiB. Each fits from 4 ranks. allgather_kv needs 30 of 24 GiB. It fits from 8 ranks");
}

// Which strategies `spscope explain` shows, where times compare and where they do not.
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
