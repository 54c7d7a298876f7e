// What those who watch a run are told of its events.
#include "backend/collect/run_watch.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TEST(EventsText, SaysWhatIsRecordedWhatIsSafeAndWhatIsLost) {
  WatchedRun run;
  run.committed = 8688;  // a scheduled run: no rank records, and 0 would be wrong
  EXPECT_EQ(run.events_text(), "8,688 events in its files, none lost");
  run.sent = 9000;
  EXPECT_EQ(run.events_text(), "9,000 events recorded, 8,688 in its files, none lost");
  run.events_per_second = 1200;
  run.committed = 9000;
  run.dropped = 3;
  EXPECT_EQ(run.events_text(), "9,000 events recorded (1,200/s), all in its files, 3 lost");
}

}  // namespace
}  // namespace spscope
