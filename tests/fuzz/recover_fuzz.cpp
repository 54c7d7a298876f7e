// A shard with damage, recovered together with sound ones: whatever it holds, a file is made that opens, passes
// SQLite's integrity check, or the shards are refused and there is none.
#include <filesystem>

#include "backend/base/check.h"
#include "backend/store/merge/merge_shards.h"
#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/read_store.h"
#include "tests/fuzz/sample_plans.h"
#include "tests/fuzz/store_mutator.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope::fuzz {
namespace {

constexpr std::int64_t kBegin = 1'000'000;
constexpr const char* kSmallPages =
    "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL";

std::string as_small_file(const std::string& path) {
  testing::tamper(path, kSmallPages);
  return testing::read_file(path);
}

std::string head_shard(const TemporaryFolder& folder) {
  StoreWriter writer = StoreWriter::shard(folder / "head.db", testing::head_shard());
  const WorkloadId workload = writer.add_workload(testing::sample_workload());
  const StrategyId strategy = writer.add_strategy(testing::sample_strategy(workload));
  const RunId run = writer.add_run(testing::sample_run(strategy, writer.add_plan(ring_plan(3))));
  writer.add_repeat(run, {.repeat = 0, .begin_ns = 0, .makespan_ns = 900, .has_timeline = true});
  writer.add_rank_clock({0, {}});
  writer.add_rank_clock(
      {1, {.raw_zero_ns = kBegin, .offset_ns = 700, .drift = 50e-6, .bound_ns = 900, .exchanges = 9}});
  writer.finish();
  return as_small_file(folder / "head.db");
}

// Of rank 1, all events lie in one chunk: its bounds are all that is known of the track's times beforehand.
std::string rank_shard(const TemporaryFolder& folder, int rank) {
  const std::string path = folder / ("rank-" + std::to_string(rank) + ".db");
  std::vector<SpanEvent> events;
  for (std::int64_t i = 0; i < 60; ++i)
    events.push_back({.begin_ns = kBegin + 100 * i, .end_ns = kBegin + 100 * i + 90, .op_id = i, .name = 1});
  {
    testing::RankShard shard(path, rank);
    shard.add_track({TrackId{7}, rank, 0, 0, false});
    shard.add_string(1, "attend");
    shard.add_events(RunId{1}, TrackId{7}, events, rank == 0 ? 25 : 60);
    shard.add_track({.track_id = TrackId{8}, .rank = rank, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
    shard.add_detail(2, {.grid = {8, 1, 1}, .block = {128, 1, 1}, .device = 0, .stream = 7});
    std::vector<WorkEvent> work;
    for (const SpanEvent& event : events) work.push_back({event, 64, static_cast<std::uint32_t>(event.op_id), 2});
    shard.add_events(RunId{1}, TrackId{8}, work, 40);
    shard.add_rank_repeat({RunId{1}, 0, rank, kBegin, kBegin + 6'000});
    shard.commit();
    shard.writer().finish();
  }
  return as_small_file(path);
}

}  // namespace

std::vector<std::string> seeds() {
  const TemporaryFolder folder;
  return {head_shard(folder), rank_shard(folder, 0)};
}

// The input stands for the shard of rank 0, or for the head where it is one. A sound shard of rank 1 is merged with
// every head, and with every second shard of rank 0.
void read(std::string_view input) {
  static const TemporaryFolder sound;
  static const std::string head = sound.write("a.head.db", head_shard(sound));
  static const std::string rank = sound.write("a.rank-1.db", rank_shard(sound, 1));
  const bool is_head = input.find("shardhead") != std::string_view::npos;
  const std::string damaged = as_file(input, "a.rank-0.db");
  const std::vector<std::string> shards = {is_head ? damaged : head, is_head ? rank : damaged, rank};
  const std::uint32_t choice = choice_of(input);
  const std::size_t count = is_head || choice % 2 == 0 ? 2 : 3;
  const std::string path = sound / "out.db";
  std::filesystem::remove(path);
  {
    OutputFile out(path, true);
    merge_shards(out, std::span(shards).first(count), {.tolerant = true});
  }
  const Result<int> whole = capture([&] { return read_store(path, choice / 2), 0; });
  SPSCOPE_CHECK(whole.has_value());
  Database db = Database::open_read_only(path);
  Statement integrity(db, "PRAGMA integrity_check");
  SPSCOPE_CHECK(integrity.step() && integrity.text(0) == "ok");
}

}  // namespace spscope::fuzz
