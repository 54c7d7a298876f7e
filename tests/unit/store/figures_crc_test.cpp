// The checksum of a run's figures, and what a merge makes of shards whose figures are not those written.
#include "backend/store/figures_crc.h"

#include <gmock/gmock.h>

#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;
using testing::merge;
using testing::MergedFile;
using testing::read_file;
using testing::tamper;
using testing::TemporaryFolder;
using testing::write_file;

// Files that were written before must stay readable.
TEST(FiguresCrc, OfASampleIsWhatItWas) {
  const TemporaryFolder folder;
  testing::write_sample(folder / "a.db");
  EXPECT_EQ(MergedFile(folder / "a.db").number("SELECT figures_crc32c FROM run"), 2954284844);
}

class FiguresOfShards : public testing::TwoRanks {
 protected:
  const std::string head_ = folder_ / "a.head.db";
};

TEST_F(FiguresOfShards, AChangedFigureIsNoticed) {
  const std::string sound = read_file(head_);
  int round = 0;
  for (const char* change :
       {"repeat SET makespan_ns = makespan_ns + 1", "repeat SET lead_ns = 1",
        "rank_usage SET bytes_received = 64 WHERE rank = 2", "rank_usage SET tiles = tiles + 1 WHERE rank = 1",
        "rank_usage SET memory_peak_bytes = 1 WHERE rank = 3", "run SET tiles = 16", "run SET density = 0.25",
        "run SET mesh = 0", "run SET max_error = NULL", "run SET error_metric = 'nmsd'", "run SET finished = 0",
        "run SET figures_crc32c = NULL", "run SET figures_crc32c = figures_crc32c + 1",
        "rank_usage SET run_id = 9 WHERE rank = 0"}) {
    write_file(head_, sound);
    tamper(head_, std::string("UPDATE ") + change);
    EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", {head_}); }).code(), ErrorCode::kStoreCorrupt) << change;
    const std::string saved = folder_ / ("saved-" + std::to_string(round++) + ".db");
    const MergeReport report = merge(saved, {head_}, {.tolerant = true});
    EXPECT_EQ(report.finished_runs, 0) << change;
    EXPECT_THAT(report.notes, Contains(HasSubstr("usp-2, layer 3, denoise step 1"))) << change;
    EXPECT_EQ(MergedFile(saved).number("SELECT count(*) FROM run WHERE figures_crc32c IS NOT NULL"), 0) << change;
    const StoreReader reader(saved);
    EXPECT_EQ(reader.runs(reader.strategies()[0].strategy_id).size(), 1u) << change;
    EXPECT_TRUE(reader.disagreements().empty()) << change;
  }
}

}  // namespace
}  // namespace spscope
