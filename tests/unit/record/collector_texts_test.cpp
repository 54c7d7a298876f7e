// What is said of collectors: what is not known is not said to be nothing, and what several processes have is said
// once.
#include "backend/record/collector_texts.h"

#include <gmock/gmock.h>

namespace spscope {
namespace {

using testing::ElementsAre;

constexpr auto kCutOff = CollectorOutcome::kCutOff, kNotStarted = CollectorOutcome::kNotStarted;

TEST(CollectorTexts, RecordsAndLossesByWhatBecameOfIt) {
  EXPECT_EQ(text_of(CollectorRecord{.cost = {404'000, 3, 1 << 20, 5, 1}}),
            "5 records, 1 lost; 404 us of its own threads, 1.0 MiB");
  EXPECT_EQ(text_of(CollectorRecord{.cost = {.records = 1}}), "1 record, none lost");
  EXPECT_EQ(text_of(CollectorRecord{}), "nothing to collect");
  EXPECT_EQ(text_of(CollectorRecord{.cost = {.records = 900}, .outcome = kCutOff}),
            "at least 900 records, losses unknown");
  EXPECT_EQ(text_of(CollectorRecord{.cost = {.records = 900, .dropped = 4}, .outcome = kCutOff}),
            "at least 900 records, at least 4 lost");
  EXPECT_EQ(text_of(CollectorRecord{.outcome = kCutOff}), "at least 0 records, losses unknown");
  EXPECT_EQ(text_of(CollectorRecord{.name = "best", .notes = "best: there is no library", .outcome = kNotStarted}),
            "did not collect: there is no library");
}

TEST(CollectorTexts, TablesSayWhatIsKnownOfALoss) {
  const auto said = [](const CollectorRecord& record) { return lost_text(sum_of({&record, 1})); };
  EXPECT_EQ(said({}), "none");
  EXPECT_EQ(said({.cost = {.dropped = 4000}}), "4,000");
  EXPECT_EQ(said({.cost = {.dropped = 4}, .outcome = kCutOff}), "at least 4");
  EXPECT_EQ(said({.outcome = kCutOff}), "unknown");
  const CollectorRecord all[] = {{.name = "best", .cost = {.records = 900}, .outcome = kCutOff},
                                 {.name = "other", .cost = {.records = 100, .dropped = 4}}};
  EXPECT_EQ(records_text(sum_of(all)), "at least 1,000");
  EXPECT_EQ(lost_text(sum_of(all)), "at least 4");
}

TEST(CollectorTexts, SumsOverProcessesKeepWhatIsNotKnown) {
  const CollectorRecord all[] = {{.name = "best", .cost = {.records = 5}},
                                 {.name = "best", .cost = {.records = 7}, .outcome = kCutOff},
                                 {.name = "best", .notes = "best: in use\nbest: more", .outcome = kNotStarted},
                                 {.name = "other", .cost = {.records = 2}}};
  std::vector<std::string> lines;
  for (const CollectorSum& sum : sums_of(all)) lines.push_back(line_of(sum));
  EXPECT_THAT(lines, ElementsAre("best, 3 processes: at least 12 records, losses unknown; did not collect in 1 of "
                                 "them: in use",
                                 "other: 2 records, none lost"));
}

// Without its process a reason would be taken for that of all of them.
TEST(CollectorTexts, SumsNameAReasonThatAllHave) {
  std::vector<CollectorRecord> all(3, {.name = "best", .notes = "best: in use\nbest: more", .outcome = kNotStarted});
  EXPECT_EQ(line_of(sums_of(all)[0]), "best, 3 processes: did not collect: in use");
  all[1].notes = "best: there is no library";
  EXPECT_EQ(line_of(sums_of(all)[0]),
            "best, 3 processes: did not collect for 2 reasons; spscope doctor FILE names them");
  all[0] = {.name = "best", .cost = {.records = 5}};
  EXPECT_EQ(line_of(sums_of(all)[0]),
            "best, 3 processes: 5 records, none lost; did not collect in 2 of them for 2 reasons; spscope doctor FILE "
            "names them");
}

TEST(CollectorTexts, WhatSeveralProcessesHaveIsOneLine) {
  TextsOfProcesses texts;
  texts.add("in use", "a");
  texts.add("of the host", "");
  texts.add("slow", "a");
  EXPECT_THAT(texts.lines(), ElementsAre("a: in use", "of the host", "a: slow"));
  texts.add("in use", "b");
  texts.add("in use", "b");
  EXPECT_THAT(texts.lines(), ElementsAre("a and b: in use", "of the host", "a: slow"));
  texts.add("in use", "c");
  EXPECT_THAT(texts.lines(), ElementsAre("3 processes: in use", "of the host", "a: slow"));
  EXPECT_THAT(texts.lines_of_later(), ElementsAre("b and c: in use"));
}

TEST(CollectorTexts, OfARunNotesHaveTheRanksWhereNotAllHaveTheSame) {
  const CollectorRecord first = {0, "", "best", {2'000'000, 3, 1 << 20, 5, 0}, "best: no calls"};
  EXPECT_THAT(collector_texts(std::span(&first, 1)),
              ElementsAre("best: no calls", "best: 5 records, none lost; 2.00 ms of its own threads, 1.0 MiB"));
  const CollectorRecord all[] = {
      first,
      {1, "", "best", {4'000'000, 3, 1 << 19, 7, 2}, "best: no calls\nbest: 2 of 9 are missing"},
      {1, "", "other", {0, 0, 0, 1, 0}, ""},
      {1, "", "absent", {}, "absent: said before the run", kNotStarted}};
  EXPECT_THAT(collector_texts(all), ElementsAre("rank 1: best: 2 of 9 are missing", "best: no calls",
                                                "best, 2 processes: 12 records, 2 lost; 6.00 ms of its own threads, "
                                                "1.5 MiB",
                                                "other: 1 record, none lost"));
}

}  // namespace
}  // namespace spscope
