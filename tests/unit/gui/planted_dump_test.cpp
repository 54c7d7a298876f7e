// --view-dump of runs whose times are planted: the critical path, arrows, the late rank and whom it held up, and what
// makes a straggler, all worked out by hand.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/analysis/explanation.h"
#include "backend/schedule/schedule.h"
#include "backend/store/store_writer.h"
#include "gui/app/headless.h"
#include "gui/session/session.h"
#include "gui/views/timeline/ghost_band.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/analysis/two_ranks.h"
#include "tests/unit/schedule/schedule_cases.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

using nlohmann::json;

// Two heads, four blocks of one token. All of head 0 is active, of head 1 only its diagonal: 16 tiles and 4.
Request uneven_heads() {
  BlockMask mask(2, BlockMask::uniform_starts(4, 1));
  for (int q = 0; q < 4; ++q) {
    for (int k = 0; k < 4; ++k) mask.set(0, q, k);
    mask.set(1, q, q);
  }
  return Request::attention(2, 2, 2, std::move(mask));
}

// What the program prints for these options and a link to a place of a file.
json printed(std::vector<std::string> options, const std::string& path, const std::string& place) {
  options.insert(options.end(), {"--settings", "", path + "#" + place});
  ::testing::internal::CaptureStdout();
  const int code = run_headless(parse_options(options));
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return json::parse(text);
}

// Some members of each of a list.
json picked(const json& list, std::initializer_list<const char*> names) {
  json all = json::array();
  for (const json& one : list) {
    json& values = all.emplace_back(json::array());
    for (const char* name : names) values.push_back(one.at(name));
  }
  return all;
}

class PlantedDump : public ::testing::Test {
 protected:
  void store(const std::string& name, const Request& request, const Plan& plan, const Timeline& timeline,
             const std::vector<double>& tiles) {
    StoreWriter writer(path_, {.force = true, .tool_version = "9.9"});
    WorkloadRecord workload;
    workload.model = "wan-mini";
    workload.pattern = "planted";
    workload.config_hash = "00ff";
    workload.tokens = workload.blocks = 4;
    workload.heads = request.heads;
    workload.ranks = plan.ranks;
    workload.model_layers = workload.layers = workload.denoise_steps = 1;
    workload.cluster = "local";
    workload.gpus_per_node = plan.ranks;
    workload.cluster_toml = cluster_toml_;
    const WorkloadId id = writer.add_workload(workload);
    writer.place_mask(
        id, {0, 0, AttendedAxis::kInner, writer.add_mask(request.executed_mask(AttendedAxis::kInner).mask(), "")});
    StrategyRecord strategy;
    strategy.workload_id = id;
    strategy.id = strategy.name = strategy.label = name;
    strategy.meshes = {{name == "ring" ? 1 : 2, name == "ring" ? 2 : 1}};
    strategy.mode = RunMode::kSimulate;
    RunRecord run;
    run.strategy_id = writer.add_strategy(strategy);
    run.plan_id = writer.add_plan(plan);
    run.tiles = std::accumulate(tiles.begin(), tiles.end(), 0.0);
    const RunId run_id = writer.add_run(run);
    std::vector<RankUsage> usage;
    for (std::size_t rank = 0; rank < tiles.size(); ++rank)
      usage.push_back({.rank = static_cast<int>(rank), .tiles = tiles[rank]});
    writer.add_usage(run_id, usage);
    writer.add_repeat(run_id, {.makespan_ns = timeline.makespan_ns()}, plan, timeline, run.provenance);
    writer.finish();
  }

  // Ulysses on uneven_heads(), as a schedule of a model.
  std::pair<Plan, Timeline> store_scheduled(std::int64_t tile_ns) {
    const Request request = uneven_heads();
    const Strategy& ulysses = *find_strategy("ulysses");
    const Plan plan = make_plan(ulysses, request, Parameters(ulysses.parameters()));
    ClusterPreset cluster = *find_cluster_preset("local");
    cluster.network = {.link_gbps = 1e5, .intra_latency_ns = 19};  // a few bytes take the rest of the 20th nanosecond
    cluster.cost = {};
    cluster_toml_ = cluster_toml(cluster);
    const std::vector<std::int64_t> compute_ns = spscope::testing::attend_durations(
        plan, [&](const Op& op, const Post&) { return static_cast<std::int64_t>(tile_ns * op.tiles); });
    const Timeline timeline = schedule(plan, compute_ns, Network::of_cluster(cluster, 2, 0));
    store("ulysses", request, plan, timeline, {16, 4});
    return {plan, timeline};
  }

  json dump(const std::string& view, const std::string& place = "") {
    return printed({"--view-dump", view}, path_, view + "?" + place);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("planted.db");
  std::string cluster_toml_;
};

OpId op_named(const Plan& plan, int rank, PostKind kind, int ring_step) {
  for (std::size_t op = 0; op < plan.ops.size(); ++op)
    if (const Post& post = plan.post_of(plan.ops[op]);
        plan.ops[op].rank == rank && post.kind == kind && post.ring_step == ring_step)
      return static_cast<OpId>(op);
  return kNone;
}

// The ring of two_ranks.h: rank 1 posts 10 ns late and attends longer, though it has 3 tiles and rank 0 has 5.
TEST_F(PlantedDump, RingThatWaitsForASlowRank) {
  const Request request = testing::two_rank_request();
  const Plan plan = testing::two_rank_ring(request);
  store("ring", request, plan, testing::two_rank_times(plan), {5, 3});
  const OpId first = op_named(plan, 0, PostKind::kExchange, 0);
  const OpId exchange = first != kNone ? first : op_named(plan, 0, PostKind::kExchange, 1);
  ASSERT_NE(exchange, kNone);
  ASSERT_EQ(dump("timeline").at("bands").size(), 1u);
  const json band = dump("timeline", "of=ring&rank=0&op=" + std::to_string(exchange)).at("bands").at(0);
  EXPECT_EQ(band.at("makespan_ns"), 120);
  // Rank 0 computes 6 + 30 + 10; it waits from 0 to 10, of which it computes 6; data moves from 10 to 50. Rank 1
  // computes 20 + 60 + 10, over half of the time that data moves.
  EXPECT_EQ(picked(band.at("ranks"), {"compute_ns", "wait_late_peer_ns", "wire_ns"}), (json{{46, 4, 40}, {90, 0, 20}}));
  // The path ends with rank 1: its keys come at 50, it attends until 110 and finishes at 120.
  const json path = picked(band.at("critical_path"), {"begin_ns", "end_ns", "share", "rank"});
  ASSERT_GE(path.size(), 3u);
  std::int64_t reached = 0;
  for (const json& step : path) {
    EXPECT_EQ(step.at(0), reached);
    reached = step.at(1);
  }
  EXPECT_EQ(path.at(path.size() - 1), (json{110, 120, "compute", 1}));
  EXPECT_EQ(path.at(path.size() - 2), (json{50, 110, "compute", 1}));
  EXPECT_EQ(path.at(path.size() - 3).at(0), 10);
  EXPECT_EQ(path.at(path.size() - 3).at(2), "wire");
  // The late rank, and whom it holds up: 4 ns, since the rest of the wait is computed away.
  EXPECT_EQ(band.at("selected").at("late_rank"), 1);
  std::int64_t waited = 0;
  for (const json& wait : picked(band.at("waits"), {"collective", "rank", "late_rank", "wait_ns"})) {
    if (wait.at(0) == "end") continue;
    EXPECT_EQ(wait.at(1), 0);
    EXPECT_EQ(wait.at(2), 1);
    waited += wait.at(3).get<std::int64_t>();
  }
  EXPECT_EQ(waited, 4);
  // Keys go both ways, from where the exchange begins to where it ends, and the wait leads to the post of rank 1.
  const json arrows = picked(band.at("selected").at("arrows"), {"from_rank", "to_rank", "from_ns", "to_ns", "to_late"});
  EXPECT_THAT(arrows, ::testing::UnorderedElementsAre(json{0, 1, 10, 50, false}, json{1, 0, 10, 50, false},
                                                      json{0, 1, 10, 10, true}));
  // Of rank 1: compute 90, 22 above the mean of 68; attention 80, mean 58; 3 tiles, mean 4. Fewer tiles take
  // (3 - 4) 58 / 4 = -14.5 ns more, slower ones the rest of 80 - 58.
  const json straggler = dump("balance").at(0).at("stragglers").at(0);
  EXPECT_EQ(straggler.at("rank"), 1);
  EXPECT_EQ(straggler.at("excess_ns"), 22);
  EXPECT_NEAR(straggler.at("more_tiles_ns").get<double>(), -14.5, 0.51);
  EXPECT_NEAR(straggler.at("slower_tiles_ns").get<double>(), 36.5, 0.51);
  EXPECT_EQ(straggler.at("other_ns"), 0);
  // Each tile of the head is attended once: rows 0 and 1 by rank 0, with the keys of rank 1 in ring step 1.
  for (const auto& [tile, rank, step] : {std::tuple("0,0", 0, 0), {"0,2", 0, 1}, {"2,0", 1, 1}, {"2,2", 1, 0}}) {
    const json heads = dump("heads", std::string("of=ring&head=0&tile=") + tile);
    const json& owners = heads.at("strategies").at(0).at("owners");
    ASSERT_EQ(owners.size(), 1u) << tile;
    EXPECT_EQ(owners.at(0).at("rank"), rank) << tile;
    EXPECT_EQ(owners.at(0).at("ring_step"), step) << tile;
    EXPECT_EQ(heads.at("strategies").at(0).at("tiles_by_rank"), (json{5, 3}));
  }
}

// Rank 0 has 16 tiles and rank 1 has 4: it computes 160 ns and the mean is 100, all of it by tiles.
TEST_F(PlantedDump, UlyssesThatWaitsForTheRankWithMoreTiles) {
  store_scheduled(10);
  const json balance = dump("balance").at(0);
  // Rank 1 waits for it from 40 to 160 ns of its attend.
  const json stragglers = picked(balance.at("stragglers"),
                                 {"rank", "excess_ns", "more_tiles_ns", "slower_tiles_ns", "other_ns", "held_up_ns"});
  ASSERT_EQ(stragglers.size(), 1u);
  EXPECT_EQ(stragglers.at(0), (json{0, 60, 60, 0, 0, 120}));
  const json band = dump("timeline").at("bands").at(0);
  EXPECT_EQ(band.at("ranks").at(1).at("wait_late_peer_ns"), 120);
  for (const json& wait : picked(band.at("waits"), {"rank", "late_rank"})) EXPECT_EQ(wait, (json{1, 0}));
  EXPECT_EQ(dump("heads", "of=ulysses&head=0").at("strategies").at(0).at("tiles_by_rank"), (json{16, 0}));
  EXPECT_EQ(dump("heads", "of=ulysses&head=1").at("strategies").at(0).at("tiles_by_rank"), (json{0, 4}));
}

// Of each rank of ulysses on uneven_heads(): when it attends, and when it posts the exchange that follows, which begins
// when both have and takes 20 ns.
struct AttendTimes {
  std::int64_t begin_ns = 0, end_ns = 0;
};

// The same masks, as a schedule of a model: two exchanges of 20 ns one after the other, an attend of 10 ns a tile, and
// an exchange of 20 ns. As it was, ranks attend 160 and 40 ns: until 200 and 80, so that the last exchange ends at 220.
TEST_F(PlantedDump, GhostsOfUlysses) {
  const auto [plan, timeline] = store_scheduled(10);
  ASSERT_EQ(timeline.makespan_ns(), 220);

  struct Case {
    const char* edit;
    std::vector<AttendTimes> attends;
    std::int64_t makespan_ns, late_peer_ns;  // of rank 1, before the last exchange
  };
  for (const Case& c : {Case{"none", {{40, 200}, {40, 80}}, 220, 120},
                        {"evenly_spread", {{40, 140}, {40, 140}}, 160, 0},
                        {"rank_as_mean", {{40, 140}, {40, 80}}, 160, 60},
                        // Nothing is left of the messages but the begun nanosecond.
                        {"no_latency", {{2, 162}, {2, 42}}, 163, 120}}) {
    SCOPED_TRACE(c.edit);
    const std::string place = std::string("whatif=ulysses,") + c.edit;
    const json band = dump("timeline", place).at("bands").at(0), &ghost = band.at("ghost");
    EXPECT_EQ(ghost.at("edit"), c.edit);
    EXPECT_EQ(ghost.at("source"), "modelled");
    EXPECT_EQ(ghost.at("makespan_ns"), c.makespan_ns);
    EXPECT_EQ(ghost.at("change_ns"), c.makespan_ns - 220);
    EXPECT_EQ(ghost.at("ranks").at(1).at("wait_late_peer_ns"), c.late_peer_ns);
    EXPECT_EQ(band.at("makespan_ns"), 220) << "the pass as it was stays";
    EXPECT_EQ(ghost.at("ranks") == band.at("ranks"), std::string_view(c.edit) == "none");
    int attends = 0;
    for (OpId op = 0; op < static_cast<OpId>(plan.ops.size()); ++op) {
      const Op& of = plan.ops[static_cast<std::size_t>(op)];
      if (plan.kind_of(of) != PostKind::kAttend) continue;
      ++attends;
      const json selected =
          dump("timeline", place + "&of=ulysses&op=" + std::to_string(op)).at("bands").at(0).at("ghost").at("selected");
      const OpTimes& stored = timeline.ops[static_cast<std::size_t>(op)];
      const AttendTimes& wanted = c.attends[static_cast<std::size_t>(of.rank)];
      EXPECT_EQ(picked(json::array({selected.at("stored"), selected.at("modelled")}), {"begin_ns", "end_ns"}),
                (json{{stored.begin_ns, stored.end_ns}, {wanted.begin_ns, wanted.end_ns}}))
          << op;
    }
    EXPECT_EQ(attends, 2);
  }
  // Ranks of one node have no links between nodes to be faster.
  EXPECT_FALSE(dump("timeline", "whatif=ulysses,faster_nics").at("bands").at(0).contains("ghost"));
  EXPECT_FALSE(dump("timeline").at("bands").at(0).contains("ghost"));
}

// What one edit is asked alone for is what all are said to give; who does not want it any more has no answer.
TEST_F(PlantedDump, OneEditAlone) {
  store_scheduled(10);
  const StoreReader reader(path_);
  const std::vector<Comparison> comparisons = compare_store(reader);
  ExplainRequest request;
  request.strategies = {"ulysses"};
  const Explanation all = explain(reader, comparisons, request);
  ASSERT_EQ(all.strategies.size(), 1U);
  const std::vector<EditResult>& edits = all.strategies.front().edits;
  ASSERT_EQ(edits.size(), 5U);
  for (const EditResult& wanted : edits) {
    EXPECT_TRUE(wanted.timeline.ops.empty());
    const auto alone = explain_edit(reader, comparisons, request, wanted.edit.kind);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->all_edits.size(), edits.size());
    EXPECT_EQ(alone->edits.size(), wanted.edit.kind == TimeEditKind::kNone ? 1U : 2U);
    const EditResult& result = alone->edits.back();
    EXPECT_EQ(result.edit, wanted.edit);
    EXPECT_EQ(result.makespan_ns, wanted.makespan_ns);
    EXPECT_EQ(result.change_ns, wanted.change_ns);
    EXPECT_EQ(result.timeline.makespan_ns(), wanted.makespan_ns);
  }
  EXPECT_EQ(explain_edit(reader, comparisons, request, TimeEditKind::kFasterNics)->edits.size(), 1U);
  request.cancelled.cancel();
  const auto code_of = [](const auto& work) { return capture(work).error().code(); };
  EXPECT_EQ(code_of([&] { return explain(reader, comparisons, request); }), ErrorCode::kCancelled);
  EXPECT_EQ(code_of([&] { return explain_edit(reader, comparisons, request, TimeEditKind::kNone); }),
            ErrorCode::kCancelled);
}

// A session with one reading thread, which takes all answers that come.
Session reading() {
  return Session(
      Settings{}, 1, [] {}, std::numeric_limits<int>::max());
}

// Waits for an answer, as frames do.
template <typename Ready>
bool comes(Ready&& ready) {
  for (int i = 0; i < 2000 && !ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return ready();
}

// While a file is read again its strategies are those that it had: nothing explains what it has by them.
TEST_F(PlantedDump, NothingOldExplainsANewFile) {
  store_scheduled(10);
  Session session = reading();
  session.open(path_);
  const auto is_read = [&] { return session.files()[0]->slot->current(); };
  const auto explained = [&] { return session.explanation(session.all_strategies().front()); };
  const auto makespan_ns = [&] { return explained()->value()->strategies.front().makespan_ns; };
  ASSERT_TRUE(comes(is_read));
  ASSERT_TRUE(comes([&] { return explained()->current(); }));
  EXPECT_EQ(makespan_ns(), 220);
  store_scheduled(20);
  std::atomic<bool> may_read = false;
  session.workers().post({}, [&](Readers&) { may_read.wait(false); });  // on its only thread
  session.reload(0);
  ASSERT_FALSE(session.all_strategies().empty());
  EXPECT_EQ(explained(), nullptr);
  may_read = true;
  may_read.notify_all();
  ASSERT_TRUE(comes(is_read));
  ASSERT_TRUE(comes([&] { return explained()->current(); }));
  EXPECT_EQ(makespan_ns(), 380);
}

// Rows of files have the same numbers: a ghost is known by its file.
TEST_F(PlantedDump, GhostsAreOfOneFile) {
  store_scheduled(10);
  const std::string other = folder_.file("other.db");
  std::filesystem::copy_file(path_, other);
  Session session = reading();
  std::vector<std::shared_ptr<const PassData>> passes;
  for (const std::string& path : {path_, other}) session.open(path);
  ASSERT_TRUE(comes([&] { return session.all_strategies().size() == 2; }));
  for (const Chosen& chosen : session.all_strategies()) {
    ASSERT_TRUE(comes([&] { return session.pass_data(chosen).current(); }));
    passes.push_back(session.pass_data(chosen).share());
  }
  ASSERT_EQ(passes[0]->run.strategy_id, passes[1]->run.strategy_id);
  const GhostBand ghost = make_ghost_band(passes[0], std::nullopt, TimeEditKind::kNone);
  EXPECT_EQ(ghost.problem, "The model cannot schedule this strategy again.");
  EXPECT_TRUE(ghost.is_of(*passes[0]));
  EXPECT_FALSE(ghost.is_of(*passes[1]));
}

// An event that had not ended when recording stopped has a torn end, and no other one has.
class TornEnds : public spscope::testing::TwoRanks {};

TEST_F(TornEnds, AreThoseOfUnfinishedEvents) {
  for (std::vector<SpanEvent>& events : events_) events.resize(20);
  events_[1][3].end_ns = kNeverEnded;
  events_[1][3].flags = static_cast<std::uint32_t>(EventCategory::kAttend) | kEventUnfinished;
  write_ranks();
  spscope::testing::merge(folder_ / "torn.db", shards());
  const json items = printed({"--ui-dump", "-"}, folder_ / "torn.db", "timeline?time=file");
  EXPECT_EQ(std::ranges::count_if(
                items, [](const json& item) { return item.at("path").get<std::string>().ends_with("/torn"); }),
            1);
}

TEST(Options, AScaleIsANumberInItsRange) {
  EXPECT_EQ(parse_options({"--scale", "1.5"}).scale, 1.5);
  for (const char* wrong : {"nan", "-nan", "inf", "0", "4.01", "1x"})
    EXPECT_THROW(parse_options({"--scale", wrong}), Error) << wrong;
}

}  // namespace
}  // namespace spscope::gui
