// Which collectors a process of a run starts, by run.collect and run.device, and what becomes of one that cannot.
#include "backend/job/run_collectors.h"

#include <gmock/gmock.h>

#include "backend/base/error.h"
#include "tests/support/kept_trace.h"

namespace spscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Hands over one record and costs what its name says.
class OneRecord final : public Collector {
 public:
  void stop() override {
    if (!std::exchange(stopped_, true)) throw Error(ErrorCode::kCannotCollect, "its end failed", "look at it");
  }
  CollectorCost cost() const override {
    return {.thread_ns = 2'000'000, .callback_ns = 3, .memory_bytes = 1 << 20, .records = 5, .dropped = 1};
  }
  std::vector<std::string> notes() const override { return {"copies: not recorded"}; }

 private:
  bool stopped_ = false;
};

std::optional<std::string> can() { return std::nullopt; }
std::optional<std::string> has_no_library() { return "there is no library; install it"; }
std::unique_ptr<Collector> start(TraceSink&, const CollectedProcess&) { return std::make_unique<OneRecord>(); }

constexpr CollectorRow kCan[] = {{"best", "", "", can, start}, {"spare", "", "best", can, start}};
constexpr CollectorRow kByName[] = {{"best", "", "", can, start}, {"named", "", "", has_no_library, start, false}};

std::vector<std::string> names(const RunCollectors& collectors) {
  std::vector<std::string> names;
  for (const CollectorRecord& record : collectors.records(0))
    if (record.outcome != CollectorOutcome::kNotStarted) names.push_back(record.name);
  return names;
}

RunCollectors collectors_of(std::vector<std::string> collect, std::string_view device,
                            std::span<const CollectorRow> rows) {
  static KeptTrace sink;
  return {collect, device, sink, {}, rows};
}

TEST(RunCollectors, AutoTakesTheBestThatCanOnGpusAndNoneElsewhere) {
  EXPECT_THAT(names(collectors_of({"auto"}, "cuda", kCan)), ElementsAre("best"));
  EXPECT_THAT(names(collectors_of({"auto"}, "cpu", kCan)), IsEmpty());
  EXPECT_THROW(collectors_of({"best"}, "cpu", kCan), Error) << "there is no GPU to watch";
  EXPECT_THAT(names(collectors_of({"spare", "best"}, "cuda", kCan)), ElementsAre("best", "spare"));
}

TEST(RunCollectors, WhatHasNothingToWatchInRunsIsTakenByItsNameAlone) {
  const RunCollectors all = collectors_of({"auto"}, "cuda", kByName);
  EXPECT_THAT(names(all), ElementsAre("best"));
  EXPECT_EQ(all.records(0).size(), 1u) << "nobody asked for the other";
  for (const std::string& note : all.left_out()) EXPECT_THAT(note, ::testing::Not(HasSubstr("named")));
  EXPECT_THAT(names(collectors_of({"named"}, "cuda", kByName)), ElementsAre("named"));
}

TEST(RunCollectors, CostsAndNotesAreThoseOfTheCollector) {
  RunCollectors collectors = collectors_of({"auto"}, "cuda", kCan);
  collectors.stop();
  const CollectorRecord record = collectors.records(3).front();
  EXPECT_EQ(record, (CollectorRecord{3,
                                     "",
                                     "best",
                                     {2'000'000, 3, 1 << 20, 5, 1},
                                     "best: copies: not recorded\nbest: its end failed; look at it"}));
}

}  // namespace
}  // namespace spscope
