// The events that a recorder stores are those that the timelines of the same run would give.
#include "backend/collect/run_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backend/store/chunk/event_reader.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/timeline_events.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

// All that a store says of an event, in an order that does not depend on how keys were given.
struct Told {
  int rank = 0, lane = 0, slot = 0;
  std::int64_t post = 0, begin = 0, end = 0, op = 0;
  std::string name = {}, ranks = {};
  std::uint32_t flags = 0;
  std::int64_t sequence = 0, bytes = 0;
  int peer = 0;
  auto operator<=>(const Told&) const = default;
};

std::vector<Told> told_by(Database& db, RunId run, std::int64_t from_ns, std::int64_t to_ns) {
  const EventReader reader(db);
  std::map<CommunicatorId, std::string> ranks;
  Statement query(db, "SELECT communicator_id, lane || ': ' || ranks FROM communicator");
  while (query.step()) ranks[static_cast<CommunicatorId>(query.integer(0))] = query.text(1);
  std::vector<Told> told;
  for (const Track& s : reader.tracks()) {
    std::map<std::int64_t, CollectiveEvent> moves;
    for (const CollectiveEvent& e : reader.collectives(run, s.track_id, {from_ns, to_ns})) moves[e.span.op_id] = e;
    for (const SpanEvent& e : reader.spans(run, s.track_id, {from_ns, to_ns})) {
      const std::int64_t begin = e.begin_ns - from_ns, end = e.end_ns - from_ns;
      Told t{
          .rank = *s.rank, .lane = *s.lane, .slot = s.slot, .post = begin, .begin = begin, .end = end, .op = e.op_id};
      t.name = reader.name(e.name), t.flags = e.flags;
      if (const auto move = moves.find(e.op_id); move != moves.end()) {
        const CollectiveEvent& m = move->second;
        EXPECT_EQ(m.entry_ns, e.begin_ns);
        EXPECT_EQ(m.transfer_end_ns, e.end_ns);
        t.begin = m.transfer_begin_ns - from_ns;
        t.ranks = ranks.at(m.communicator);
        t.sequence = m.sequence, t.bytes = m.bytes, t.peer = m.peer;
      }
      told.push_back(t);
    }
  }
  std::ranges::sort(told);
  return told;
}

// Times count from the first post of the pass.
void count_from_first(std::vector<Told>& told) {
  const std::int64_t zero = std::ranges::min(told, {}, &Told::post).post;
  for (Told& t : told) t.post -= zero, t.begin -= zero, t.end -= zero;
}

// The shard, the page and the recorder of one process.
struct Recording {
  explicit Recording(int ranks) : num_ranks(ranks) {}
  static ShardWriterOptions options() {
    ShardWriterOptions options;
    options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
    return options;
  }
  const int num_ranks;
  const TemporaryFolder folder;
  const Request request = small_request(4);
  ShardWriter shard{folder / "run.rank-0.db", options()};
  NowPageWriter page{folder / "run.rank-0.now", this_process(0, num_ranks, 2, {})};
  RunRecorder recorder{shard, page, 0, num_ranks, 2};
};

// A ring holds what its lane makes while the writer is held up: 256 k records where a process is one rank.
TEST(RunRecorder, RingsHaveRoom) {
  for (const int ranks : {1, 32}) {
    Recording of(ranks);
    of.recorder.prepare(RunId{1}, plan_of(of.request, "ring"));
    const std::size_t room = of.shard.ring({.rank = 0, .lane = 0}, 1).capacity();
    EXPECT_GE(room, ranks == 1 ? std::size_t{256} << 10 : std::size_t{16} << 10);
    EXPECT_LE(room, std::size_t{256} << 10);
    of.shard.finish();
  }
}

TEST(RunRecorder, StoresWhatTimelinesSay) {
  Recording of(4);
  auto& [num_ranks, folder, request, shard, page, recorder] = of;
  const Activations activations = generate_activations(request, 1);
  const std::vector<Plan> plans = {plan_of(request, "ring"), plan_of(request, "ulysses"), plan_of(request, "usp")};
  std::vector<ExecuteResult> results;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    recorder.prepare(RunId{static_cast<std::int64_t>(i) + 1}, plans[i]);
    ExecuteOptions execution;
    execution.repeats = 3;
    execution.warmup = 1;
    execution.recorder = &recorder;
    results.push_back(execute(plans[i], request, activations, execution));
  }
  shard.finish();
  recorder.publish_counts();
  EXPECT_TRUE(recorder.incidents().empty());

  // The same timelines as events, one nanosecond between passes as the store has it.
  Database db = Database::open_shard(folder / "run.rank-0.db");
  std::size_t events = 0;
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (int repeat = 0; repeat < 3; ++repeat) {
      Statement window(db, "SELECT begin_ns, end_ns FROM rank_repeat WHERE run_id = ? AND repeat = ?");
      window.bind_all(static_cast<std::int64_t>(i) + 1, repeat);
      ASSERT_TRUE(window.step());
      std::vector<Told> recorded =
          told_by(db, RunId{static_cast<std::int64_t>(i) + 1}, window.integer(0), window.integer(1) + 1);
      ASSERT_EQ(recorded.size(), plans[i].ops.size());
      events += recorded.size();

      const std::string out = folder / ("out-" + std::to_string(i) + "-" + std::to_string(repeat) + ".db");
      StoreWriter writer = StoreWriter::shard(out, {ShardKind::kHead, ShardClock::kRun, -1, std::string(32, '0')});
      append_timeline(writer.events(), RunId{1}, plans[i], results[i].timelines[static_cast<std::size_t>(repeat)], 0,
                      results[i].provenance);
      writer.finish();
      Database timeline = Database::open_shard(out);
      std::vector<Told> told = told_by(timeline, RunId{1}, 0, kNeverEnded);
      count_from_first(recorded), count_from_first(told);
      EXPECT_EQ(recorded, told) << i << " " << repeat;
    }

  // The page has counted them all, and no lane is inside an op.
  std::int64_t sent = 0;
  for (const NowPage::Line& line : read_now_page(page.path()).lines) {
    sent += line.now.sent;
    EXPECT_EQ(line.now.dropped, 0);
    EXPECT_FALSE(line.now.inside_op());
  }
  EXPECT_EQ(sent, static_cast<std::int64_t>(events));
}

}  // namespace
}  // namespace spscope
