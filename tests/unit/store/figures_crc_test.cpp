// The checksum of a run's figures: what it is of, and what a merge makes of shards whose figures are not those written.
#include "backend/store/figures_crc.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backend/base/bytes.h"
#include "backend/base/result.h"
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

// The bytes of docs/file-format.md, from the records that readers get.
class Figures {
 public:
  void integer(std::int64_t x) { put('i', &x); }
  void real(double x) { put('r', &x); }
  void text(const std::string& s) {
    const std::uint64_t size = s.size();
    put('t', &size);
    bytes_ += s;
  }
  void end(std::uint64_t rows) { put('e', &rows); }
  std::uint32_t sum() const {
    return crc32c_by_tables({reinterpret_cast<const std::uint8_t*>(bytes_.data()), bytes_.size()});
  }

 private:
  void put(char type, const void* eight) {
    bytes_ += type;
    bytes_.append(static_cast<const char*>(eight), 8);
  }
  std::string bytes_;
};

TEST(FiguresCrc, IsAsTheFormatSays) {
  TemporaryFolder folder;
  testing::write_sample(folder / "a.db");
  const StoreReader reader(folder / "a.db");
  const StrategyId strategy = reader.strategies()[0].strategy_id;
  const RunRecord r = reader.runs(strategy)[0];
  Figures figures;
  for (const std::int64_t x :
       {static_cast<std::int64_t>(r.run_id), static_cast<std::int64_t>(strategy), std::int64_t{r.layer},
        std::int64_t{r.denoise_step}, std::int64_t{r.mesh}, static_cast<std::int64_t>(*r.plan_id),
        static_cast<std::int64_t>(r.provenance.compute), static_cast<std::int64_t>(r.provenance.network),
        static_cast<std::int64_t>(r.provenance.timing), r.planning_ns})
    figures.integer(x);
  for (const double x : {r.density, r.tiles, r.tiles_redundant, r.moved_fraction}) figures.real(x);
  figures.integer(r.parameter_bytes);
  figures.integer(*r.bound_ns);
  figures.integer(*r.makespan_low_ns);
  figures.integer(*r.makespan_high_ns);
  figures.real(*r.planned_imbalance_ratio);
  figures.integer(*r.decided);
  figures.integer(static_cast<std::int64_t>(r.verdict));
  figures.real(*r.max_error);
  figures.text(r.error_metric);
  figures.end(1);
  const std::vector<RankUsage> usage = reader.usage(r.run_id);
  for (const RankUsage& u : usage) {
    figures.integer(u.rank);
    figures.real(u.tiles);
    for (const std::int64_t x : {u.flops, u.bytes_sent_intra_node, u.bytes_sent_inter_node, u.bytes_received,
                                 u.messages, u.memory_peak_bytes, u.memory_bound_bytes, std::int64_t{u.counted}})
      figures.integer(x);
  }
  figures.end(usage.size());
  const std::vector<Traffic> traffic = reader.traffic(r.run_id);
  for (const Traffic& t : traffic) {
    figures.integer(t.src);
    figures.integer(t.dst);
    figures.text(t.tensor);
    figures.integer(t.messages);
    figures.integer(t.bytes);
  }
  figures.end(traffic.size());
  const std::vector<RepeatRecord> repeats = reader.repeats(r.run_id);
  for (const RepeatRecord& repeat : repeats) {
    figures.integer(repeat.repeat);
    figures.integer(repeat.makespan_ns);
    figures.integer(repeat.lead_ns);
  }
  figures.end(repeats.size());
  ASSERT_GT(usage.size() * traffic.size() * repeats.size(), 0u);
  EXPECT_EQ(MergedFile(folder / "a.db").number("SELECT figures_crc32c FROM run"), figures.sum());
}

TEST(FiguresCrc, ARefusedStrategyHasNone) {
  TemporaryFolder folder;
  StoreWriter writer(folder / "a.db");
  const StrategyId strategy = writer.add_strategy(testing::sample_strategy(writer.add_workload({})));
  writer.add_run(testing::sample_run(strategy, writer.add_plan(testing::sample_plan())));
  writer.checkpoint();
  writer.refuse_strategy(strategy, {ErrorCode::kStoreWrite, "", "no", "", {}});
  writer.finish();
  EXPECT_EQ(
      MergedFile(folder / "a.db").number("SELECT count(*) FROM run WHERE NOT finished AND figures_crc32c IS NULL"), 1);
}

class FiguresOfShards : public testing::TwoRanks {
 protected:
  // Of the finished run, as `recover` makes it of the head.
  static std::string figures(const std::string& path) {
    std::string text;
    const StoreReader reader(path);
    for (const char* sql : {"SELECT * FROM main.rank_usage", "SELECT * FROM main.traffic",
                            "SELECT repeat, makespan_ns, lead_ns FROM main.repeat",
                            "SELECT r.*, s.id FROM main.run r JOIN main.strategy s USING (strategy_id)"})
      for (const auto& row : reader.query(sql).rows)
        for (const auto& value : row) text += value.value_or("NULL") + "|";
    return text;
  }
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

// Whatever bit of the pages with figures is wrong, the figures of a run that counts as finished are those written.
TEST_F(FiguresOfShards, AFlippedBitMakesNoOtherFigures) {
  const std::string sound = read_file(head_);
  const std::string out = folder_ / "out.db";
  ASSERT_EQ(merge(out, {head_}).finished_runs, 1);
  const std::string expected = figures(out);
  std::filesystem::remove(out);
  int lost = 0;
  Rng rng(7);
  const auto page_bytes = static_cast<std::size_t>(MergedFile(head_).number("SELECT page_size FROM pragma_page_size"));
  for (const char* table : {"run", "rank_usage", "repeat"}) {
    const auto page = static_cast<std::size_t>(
        MergedFile(head_).number(std::string("SELECT rootpage FROM sqlite_master WHERE name = '") + table + "'"));
    for (int i = 0; i < 60; ++i) {
      std::string bytes = sound;
      // Rows are at the end of a page.
      const std::size_t at = page * page_bytes - 1 - static_cast<std::size_t>(rng.below(160));
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << rng.below(8));
      write_file(head_, bytes);
      const Result<MergeReport> report = capture([&] { return merge(out, {head_}, {.tolerant = true}); });
      if (!report || report->finished_runs == 0) {
        ++lost;
        if (report) {
          EXPECT_FALSE(report->notes.empty()) << table << " " << at;
        }
      } else {
        EXPECT_EQ(figures(out), expected) << table << " " << at;
      }
      std::filesystem::remove(out);
    }
  }
  EXPECT_GT(lost, 30);
}

}  // namespace
}  // namespace spscope
