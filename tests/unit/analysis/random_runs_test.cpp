// What views and reports say of a run, on 1,000 random ones, against the definitions written out: every pair of tokens,
// every moment between two events.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
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

// What a rank does between each two neighbouring times of its timeline, by the definition in rank_times.h.
std::vector<ActivitySpan> activities_of(const Plan& plan, const Timeline& timeline, int rank, std::int64_t zero_ns) {
  std::vector<std::size_t> own;
  std::set<std::int64_t> times = {zero_ns, zero_ns + timeline.makespan_ns()};
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].rank != rank) continue;
    own.push_back(i);
    for (const std::int64_t ns : {timeline.ops[i].post_ns, timeline.ops[i].begin_ns, timeline.ops[i].end_ns})
      times.insert(ns);
  }
  std::vector<ActivitySpan> spans;
  for (auto from = times.begin(), to = std::next(from); to != times.end(); ++from, ++to) {
    const auto does = [&](bool moves, std::int64_t OpTimes::*begin, std::int64_t OpTimes::*end) {
      return std::ranges::any_of(own, [&](std::size_t i) {
        const OpTimes& t = timeline.ops[i];
        return communicates(plan.kind_of(plan.ops[i])) == moves && t.*begin <= *from && *to <= t.*end;
      });
    };
    const TimeColumn column = does(false, &OpTimes::begin_ns, &OpTimes::end_ns)   ? TimeColumn::kCompute
                              : does(true, &OpTimes::begin_ns, &OpTimes::end_ns)  ? TimeColumn::kWire
                              : does(true, &OpTimes::post_ns, &OpTimes::begin_ns) ? TimeColumn::kLatePeer
                                                                                  : TimeColumn::kOther;
    if (!spans.empty() && spans.back().column == column)
      spans.back().end_ns = *to - zero_ns;
    else
      spans.push_back({*from - zero_ns, *to - zero_ns, column});
  }
  return spans;
}

TEST(RandomRuns, TimesOfRanksEqualBruteForce) {
  using Columns = std::array<std::int64_t, kNumTimeColumns>;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const RandomRun run = random_run(seed);
    std::int64_t zero_ns = INT64_MAX;
    for (const OpTimes& t : run.timeline.ops) zero_ns = std::min(zero_ns, t.post_ns);
    const RankTimes times = rank_times(run.plan, run.timeline);
    const auto spans = activities(run.plan, run.timeline);
    Columns sums = {};
    for (std::size_t r = 0; r < spans.size(); ++r) {
      ASSERT_EQ(spans[r], activities_of(run.plan, run.timeline, static_cast<int>(r), zero_ns)) << "seed " << seed;
      Columns wanted = {};
      for (const ActivitySpan& span : spans[r])
        wanted[at(static_cast<int>(span.column))] += span.end_ns - span.begin_ns;
      ASSERT_EQ((Columns{times.compute_ns[r], times.wait_late_peer_ns[r], times.wire_ns[r], times.other_ns[r]}), wanted)
          << "seed " << seed;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += wanted[c];
    }
    TimeModels models;
    models.network = run.network;
    const TimeTerms terms = time_detail(run.plan, run.timeline, models).rank_sums;
    for (std::size_t c = 0; c < sums.size(); ++c) ASSERT_EQ(terms.of(static_cast<TimeColumn>(c)), sums[c]) << seed;
  }
}

}  // namespace
}  // namespace spscope
