// What views and reports say of a run, on 1,000 random ones, against the definitions written out: every pair of tokens,
// every moment between two events.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "backend/analysis/owner_map.h"
#include "backend/analysis/pass_picture.h"
#include "backend/analysis/plan_figures.h"
#include "backend/analysis/rank_times.h"
#include "backend/analysis/tile_owners.h"
#include "backend/base/ids.h"
#include "backend/store/records.h"
#include "tests/support/random_run.h"

namespace spscope {
namespace {

using testing::random_run, testing::RandomRun;
constexpr std::uint64_t kRuns = 1'000;

bool has(const Plan& plan, SetId set, std::int32_t token) {
  return std::ranges::any_of(plan.sets->spans(set), [&](const Span& s) { return s.begin <= token && token < s.end; });
}

// The attend ops of each (query, key) of a head, asked one by one.
std::vector<std::vector<OpId>> ops_of_pairs(const RandomRun& run, int head) {
  const std::int32_t tokens = run.request.inner_tokens;
  std::vector<std::vector<OpId>> ops(at(tokens) * at(tokens));
  for (OpId id = 0; at(id) < run.plan.ops.size(); ++id) {
    const Op& op = run.plan.ops[at(id)];
    if (run.plan.kind_of(op) != PostKind::kAttend || !has(run.plan, op.heads, head)) continue;
    for (std::int32_t q = 0; q < tokens; ++q)
      for (std::int32_t k = 0; k < tokens; ++k)
        if (has(run.plan, op.q, q) && has(run.plan, op.k, k)) ops[at(q) * at(tokens) + at(k)].push_back(id);
  }
  return ops;
}

// Pairs of tokens in [q, q end) x [k, k end) by op.
std::map<OpId, std::int64_t> counted(const std::vector<std::vector<OpId>>& ops, std::int32_t tokens, Span q, Span k) {
  std::map<OpId, std::int64_t> pairs;
  for (std::int32_t row = q.begin; row < q.end; ++row)
    for (std::int32_t key = k.begin; key < k.end; ++key)
      for (const OpId op : ops[at(row) * at(tokens) + at(key)]) ++pairs[op];
  return pairs;
}

// The rank that most pairs are of; the lowest of equal ones.
std::int32_t main_rank(const Plan& plan, const std::map<OpId, std::int64_t>& pairs) {
  std::map<int, std::int64_t> by_rank;
  std::int64_t all = 0;
  for (const auto& [op, count] : pairs) by_rank[plan.ops[at(op)].rank] += count, all += count;
  if (all == 0) return kNone;
  const auto most = std::ranges::max_element(by_rank, {}, [](const auto& rank) { return rank.second; });
  return most->second * 2 <= all ? TileOwners::kSeveralRanks : most->first;
}

void expect_tiles(const RandomRun& run, int head, const TileOwners& owners, std::vector<double>& tiles_of_rank) {
  const BlockMask& mask = run.request.executed_mask().mask();
  const std::vector<std::vector<OpId>> ops = ops_of_pairs(run, head);
  const HeadOwners of_head = owners.of_head(head);
  const std::vector<std::int32_t> ranks = owners.ranks_of_head(head);
  std::vector<double> by_rank(at(run.plan.ranks), 0);
  for (std::int32_t q = 0; q < owners.blocks(); ++q)
    for (std::int32_t k = 0; k < owners.blocks(); ++k) {
      const Span rows{mask.coarse_starts()[at(q)], mask.coarse_starts()[at(q) + 1]},
          keys{mask.coarse_starts()[at(k)], mask.coarse_starts()[at(k) + 1]};
      const std::map<OpId, std::int64_t> pairs = counted(ops, mask.tokens(), rows, keys);
      const double whole = static_cast<double>(rows.size()) * keys.size();
      const std::vector<TileOwner> found = owners.owners(head, q, k);
      ASSERT_EQ(found.size(), pairs.size());
      for (const TileOwner& owner : found) {
        const Op& op = run.plan.ops[at(owner.op)];
        ASSERT_NEAR(owner.area * whole, static_cast<double>(pairs.at(owner.op)), 1e-6);
        ASSERT_EQ(std::pair(owner.rank, owner.ring_step), std::pair(op.rank, run.plan.post_of(op).ring_step));
        if (mask.active(head, q, k)) by_rank[at(op.rank)] += static_cast<double>(pairs.at(owner.op)) / whole;
      }
      const std::size_t tile = of_head.index(q, k);
      ASSERT_EQ(ranks[tile], main_rank(run.plan, pairs));
      ASSERT_EQ(of_head.op[tile] == kNone, pairs.empty());
      if (!pairs.empty()) {
        const auto most = std::ranges::max_element(pairs, {}, [](const auto& op) { return op.second; });
        ASSERT_EQ(pairs.at(of_head.op[tile]), most->second);
      }
    }
  const std::vector<double> said = owners.tiles_by_rank(mask, head);
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    ASSERT_NEAR(said[r], by_rank[r], 1e-6);
    tiles_of_rank[r] += by_rank[r];
  }
}

TEST(RandomRuns, AreOfManyKinds) {
  std::map<std::string, int> runs;
  int uneven = 0, waiting = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    ++runs[run.strategy];
    const std::vector<double> tiles = plan_tiles(run.plan, run.request).by_rank;
    const std::vector<std::int64_t> late = rank_times(run.plan, run.timeline).wait_late_peer_ns;
    uneven += std::ranges::max(tiles) > std::ranges::min(tiles);
    waiting += std::ranges::max(late) > 0;
  }
  for (const char* strategy : {"single", "ulysses", "ring", "usp", "dbsp", "snake", "cyclic", "allgather_kv"})
    EXPECT_GE(runs[strategy], 10) << strategy;
  EXPECT_GE(uneven, 200);
  EXPECT_GE(waiting, 200);
}

TEST(RandomRuns, OwnersAndTilesByRankEqualBruteForce) {
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    const BlockMask& mask = run.request.executed_mask().mask();
    const TileOwners owners(run.plan, AttendedAxis::kInner, mask.coarse_starts());
    ASSERT_EQ(owners.blocks(), mask.coarse_blocks());
    std::vector<double> tiles_of_rank(at(run.plan.ranks), 0);
    for (int head = 0; head < mask.heads(); ++head) {
      expect_tiles(run, head, owners, tiles_of_rank);
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", head " << head;
    }
    const PlanTiles tiles = plan_tiles(run.plan, run.request);
    for (std::size_t r = 0; r < tiles_of_rank.size(); ++r)
      ASSERT_NEAR(tiles.by_rank[r], tiles_of_rank[r], 1e-6) << "seed " << seed;
  }
}

// Of fewer tokens than cells, a cell shows the token that its begin lies in.
TEST(RandomRuns, OwnerMapsEqualBruteForce) {
  constexpr int kSide = DensityThumbnail::kSide;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    const std::int32_t tokens = run.request.inner_tokens;
    const std::vector<OwnerMap> maps = owner_maps(run.plan, AttendedAxis::kInner, run.request.heads);
    ASSERT_EQ(std::ssize(maps), run.request.heads);
    for (int head = 0; head < run.request.heads; ++head) {
      const std::vector<std::vector<OpId>> ops = ops_of_pairs(run, head);
      for (int row = 0; row < kSide; ++row)
        for (int column = 0; column < kSide; ++column) {
          const std::int32_t q = row * tokens / kSide, k = column * tokens / kSide;
          ASSERT_EQ(maps[at(head)][at(row * kSide + column)],
                    main_rank(run.plan, counted(ops, tokens, {q, q + 1}, {k, k + 1})))
              << "seed " << seed;
        }
    }
  }
}

TEST(RandomRuns, LoadsOfRowsAndColumnsEqualBruteForce) {
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    const BlockMask& mask = run.request.executed_mask().mask();
    for (int head = 0; head < mask.heads(); ++head) {
      const HeadLoads loads = head_loads(mask, head);
      ASSERT_EQ(std::pair(std::ssize(loads.rows), std::ssize(loads.columns)),
                std::pair(std::ptrdiff_t{mask.coarse_blocks()}, std::ptrdiff_t{mask.coarse_blocks()}));
      for (std::int32_t i = 0; i < mask.coarse_blocks(); ++i) {
        int row = 0, column = 0;
        for (std::int32_t j = 0; j < mask.coarse_blocks(); ++j)
          row += mask.active(head, i, j), column += mask.active(head, j, i);
        ASSERT_EQ(loads.rows[at(i)], row) << "seed " << seed;
        ASSERT_EQ(loads.columns[at(i)], column) << "seed " << seed;
      }
    }
  }
}

using Columns = std::array<std::int64_t, kNumTimeColumns>;

// What a rank does between each two neighbouring times of its timeline, by the definition in rank_times.h.
Columns columns_of(const Plan& plan, const Timeline& timeline, int rank, std::int64_t zero_ns) {
  std::vector<std::size_t> own;
  std::set<std::int64_t> times = {zero_ns, zero_ns + timeline.makespan_ns()};
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].rank != rank) continue;
    own.push_back(i);
    for (const std::int64_t ns : {timeline.ops[i].post_ns, timeline.ops[i].begin_ns, timeline.ops[i].end_ns})
      times.insert(ns);
  }
  Columns columns = {};
  for (auto from = times.begin(), to = std::next(from); to != times.end(); ++from, ++to) {
    const auto does = [&](bool moves, auto&& begin, auto&& end) {
      return std::ranges::any_of(own, [&](std::size_t i) {
        const OpTimes& t = timeline.ops[i];
        return communicates(plan.kind_of(plan.ops[i])) == moves && begin(t) <= *from && *to <= end(t);
      });
    };
    const auto post = [](const OpTimes& t) { return t.post_ns; };
    const auto begin = [](const OpTimes& t) { return t.begin_ns; };
    const auto end = [](const OpTimes& t) { return t.end_ns; };
    const TimeColumn column = does(false, begin, end)   ? TimeColumn::kCompute
                              : does(true, begin, end)  ? TimeColumn::kWire
                              : does(true, post, begin) ? TimeColumn::kLatePeer
                                                        : TimeColumn::kOther;
    columns[at(static_cast<int>(column))] += *to - *from;
  }
  return columns;
}

std::vector<Columns> columns_by_rank(const RandomRun& run) {
  std::int64_t zero_ns = INT64_MAX;
  for (const OpTimes& t : run.timeline.ops) zero_ns = std::min(zero_ns, t.post_ns);
  std::vector<Columns> columns;
  for (int rank = 0; rank < run.plan.ranks; ++rank)
    columns.push_back(columns_of(run.plan, run.timeline, rank, zero_ns));
  return columns;
}

TimeTerms means_of(const RandomRun& run) {
  TimeModels models;
  models.network = run.network;
  return mean_terms(time_detail(run.plan, run.timeline, models).rank_sums, run.plan.ranks);
}

TEST(RandomRuns, TimesOfRanksEqualBruteForce) {
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    const std::vector<Columns> wanted = columns_by_rank(run);
    const RankTimes times = rank_times(run.plan, run.timeline);
    const auto spans = activities(run.plan, run.timeline);
    Columns sums = {};
    for (std::size_t r = 0; r < wanted.size(); ++r) {
      ASSERT_EQ((Columns{times.compute_ns[r], times.wait_late_peer_ns[r], times.wire_ns[r], times.other_ns[r]}),
                wanted[r])
          << "seed " << seed;
      ASSERT_EQ(std::accumulate(wanted[r].begin(), wanted[r].end(), std::int64_t{0}), run.timeline.makespan_ns());
      Columns drawn = {};
      for (const ActivitySpan& span : spans[r]) drawn[at(static_cast<int>(span.column))] += span.end_ns - span.begin_ns;
      ASSERT_EQ(drawn, wanted[r]) << "seed " << seed;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += wanted[r][c];
    }
    TimeModels models;
    models.network = run.network;
    const TimeTerms terms = time_detail(run.plan, run.timeline, models).rank_sums;
    for (std::size_t c = 0; c < sums.size(); ++c) ASSERT_EQ(terms.of(static_cast<TimeColumn>(c)), sums[c]) << seed;
  }
}

// From one strategy to another of the same workload.
TEST(RandomRuns, WaterfallsAddUpExactly) {
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun from = random_run(seed), to = random_run(seed, 1);
    const TimeTerms steps = means_of(to) - means_of(from);
    std::int64_t reached_ns = from.timeline.makespan_ns();
    for (int c = 0; c < kNumTimeColumns; ++c) reached_ns += steps.of(static_cast<TimeColumn>(c));
    ASSERT_EQ(reached_ns, to.timeline.makespan_ns()) << "seed " << seed;
    // Each step is the difference of the means over ranks, up to the rounding of its terms.
    const auto mean = [](const RandomRun& run, int column) {
      double sum = 0;
      for (const Columns& columns : columns_by_rank(run)) sum += static_cast<double>(columns[at(column)]);
      return sum / run.plan.ranks;
    };
    for (int c = 0; c < kNumTimeColumns; ++c)
      ASSERT_NEAR(static_cast<double>(steps.of(static_cast<TimeColumn>(c))), mean(to, c) - mean(from, c), 2.0) << seed;
  }
}

}  // namespace
}  // namespace spscope
