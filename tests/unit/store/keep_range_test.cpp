// A part of a finished file: the events that the range holds, whole, and tables that agree with them.
#include "backend/store/merge/keep_range.h"

#include <gtest/gtest.h>

#include "backend/store/store_reader.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

using testing::error_of;

class KeepRange : public testing::TwoRanks {
 protected:
  std::string cut(const EventWindow& range) {
    MergeOptions options;
    options.range = range;
    OutputFile file(folder_ / "part.db", true);
    merge_shards(file, std::vector<std::string>{folder_ / "out.db"}, options);
    return folder_ / "part.db";
  }
};

TEST_F(KeepRange, HoldsTheEventsOfTheRangeAndTablesThatAgree) {
  const StoreReader before(write_merged());
  const std::int64_t last_ns = before.events().spans(TrackId{1}).back().end_ns;
  for (const EventWindow range : {EventWindow{last_ns / 3, last_ns / 2}, EventWindow{-50, last_ns / 9},
                                  EventWindow{last_ns - 100, last_ns + 100}, EventWindow{}}) {
    const StoreReader part(cut(range));
    for (const Track& track : before.events().tracks()) {
      const std::vector<SpanEvent> kept = part.events().spans(track.track_id);
      std::vector<SpanEvent> wanted = before.events().spans(track.track_id);
      std::erase_if(wanted, [&](const SpanEvent& event) { return !range.holds(event); });
      EXPECT_EQ(kept, wanted);
      std::vector<WorkEvent> work = before.events().work(track.track_id);
      std::erase_if(work, [&](const WorkEvent& event) { return !range.holds(event.span); });
      EXPECT_EQ(part.events().work(track.track_id), work);
      const std::vector<LedgerRecord> ledger = part.events().ledger();
      EXPECT_EQ(
          std::ranges::count(ledger, LedgerRecord{track.track_id, std::ssize(wanted), std::ssize(wanted), 0, 0, 0}), 1);
      // What pyramids say follows from the events that are left.
      for (const StoredPyramid& pyramid : part.lod().pyramids())
        if (pyramid.track == track.track_id) {
          std::int64_t counted = 0;
          for (const LodBucket& bucket : part.lod().buckets(pyramid, 50, -1, 2)) counted += bucket.count;
          EXPECT_EQ(counted, std::ssize(wanted));
        }
    }
    EXPECT_TRUE(part.disagreements().empty());
    EXPECT_TRUE(part.disagreements(run_).empty());
    const RepeatRecord repeat = part.repeats(run_).at(0);
    EXPECT_EQ(repeat.makespan_ns, before.repeats(run_).at(0).makespan_ns);
    const bool all = range.begin_ns < -1'000'000;
    EXPECT_EQ(repeat.has_timeline, all && before.repeats(run_).at(0).has_timeline);
  }
}

}  // namespace
}  // namespace spscope
