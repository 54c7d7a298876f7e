#include "backend/analysis/tile_owners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "backend/analysis/owner_map.h"
#include "backend/analysis/plan_figures.h"
#include "backend/base/ids.h"
#include "backend/store/records.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

class TilesOfEveryPlan : public testing::OfEveryPlan {};

// (sequence, query, key) triples of tokens by tile and op, counted one by one; those of moved rows apart.
struct Counted {
  std::int64_t area = 0, moved = 0;
};

TEST_P(TilesOfEveryPlan, OwnersAreThoseThatCountingTokensFinds) {
  const RowHomes homes = row_homes(plan_, *plan_.sets);
  std::vector<double> tiles_of_rank(at(plan_.ranks), 0);
  for (const AttendedAxis axis : {AttendedAxis::kOuter, AttendedAxis::kInner}) {
    const bool used = std::ranges::any_of(plan_.accumulators, [&](const Accumulator& a) { return a.axis == axis; });
    if (!request_.attends(axis) || !used) continue;
    const BlockMask& mask = request_.executed_mask(axis).mask();
    const TileOwners owners(plan_, axis, mask.block_starts());
    ASSERT_EQ(owners.blocks(), mask.blocks());
    const std::int64_t sequences = axis == AttendedAxis::kInner ? plan_.outer_tokens : plan_.inner_tokens;
    std::vector<std::int32_t> block_of;
    for (std::int32_t b = 0; b < mask.blocks(); ++b) block_of.resize(at(mask.block(b).end), b);
    const auto has = [&](SetId set, std::int32_t token) {
      for (const Span& span : plan_.sets->spans(set))
        if (span.begin <= token && token < span.end) return true;
      return false;
    };
    for (int head = 0; head < mask.heads(); ++head) {
      std::map<std::tuple<std::int32_t, std::int32_t, OpId>, Counted> counted;
      for (OpId id = 0; at(id) < plan_.ops.size(); ++id) {
        const Op& op = plan_.ops[at(id)];
        if (plan_.kind_of(op) != PostKind::kAttend || !has(op.heads, head)) continue;
        if (plan_.accumulators[at(plan_.post_of(op).acc)].axis != axis) continue;
        for (const Span& q : plan_.sets->spans(op.q))
          for (std::int32_t row = q.begin; row < q.end; ++row)
            for (const Span& k : plan_.sets->spans(op.k))
              for (std::int32_t key = k.begin; key < k.end; ++key) {
                Counted& tile = counted[{block_of[at(row)], block_of[at(key)], id}];
                tile.area += plan_.sets->size(op.seq);
                if (homes.axis == axis && !has(homes.home[at(op.rank)], row)) tile.moved += plan_.sets->size(op.seq);
              }
      }
      const HeadOwners of_head = owners.of_head(head);
      std::vector<double> by_rank(at(plan_.ranks), 0);
      std::set<int> ranks;
      for (const auto& [tile, area] : counted) ranks.insert(plan_.ops[at(std::get<2>(tile))].rank);
      EXPECT_EQ(owners.ranks(head), std::vector<int>(ranks.begin(), ranks.end()));
      for (std::int32_t q = 0; q < mask.blocks(); ++q)
        for (std::int32_t k = 0; k < mask.blocks(); ++k) {
          const double whole = static_cast<double>(mask.block(q).size()) * mask.block(k).size() * sequences;
          double sum = 0, most = 0;
          std::size_t count = 0;
          for (const TileOwner& owner : owners.owners(head, q, k)) {
            const auto found = counted.find({q, k, owner.op});
            ASSERT_NE(found, counted.end());
            EXPECT_NEAR(owner.area, found->second.area / whole, 1e-9);
            EXPECT_NEAR(owner.moved, found->second.moved / whole, 1e-9);
            EXPECT_EQ(owner.rank, plan_.ops[at(owner.op)].rank);
            EXPECT_EQ(owner.ring_step, plan_.post_of(plan_.ops[at(owner.op)]).ring_step);
            const OpTiles tiles = owners.tiles_of(owner.op);
            EXPECT_TRUE(std::ranges::binary_search(tiles.q_blocks, q) && std::ranges::binary_search(tiles.k_blocks, k));
            sum += owner.area, most = std::max(most, owner.area), ++count;
            counted.erase(found);
            if (mask.active(head, q, k)) by_rank[at(owner.rank)] += owner.area * sequences * plan_.batch;
          }
          const std::size_t tile = of_head.index(q, k);
          ASSERT_EQ(of_head.op[tile] == kNone, count == 0);
          EXPECT_EQ((of_head.marks[tile] & HeadOwners::kShared) != 0, count > 1);
          EXPECT_EQ((of_head.marks[tile] & HeadOwners::kRedundant) != 0, sum > 1 + 1e-3);
          for (const TileOwner& owner : owners.owners(head, q, k)) {
            if (owner.op != of_head.op[tile]) continue;
            EXPECT_NEAR(owner.area, most, 1e-5);
            const bool evenly = std::abs(owner.moved * 2 - owner.area) <= 1e-6;
            EXPECT_TRUE(evenly || ((of_head.marks[tile] & HeadOwners::kMoved) != 0) == (owner.moved * 2 > owner.area));
          }
          EXPECT_TRUE(!mask.active(head, q, k) || sum >= 1 - 1e-9) << "an active tile that nobody computes";
        }
      EXPECT_TRUE(counted.empty()) << "an op that owns nothing";
      const std::vector<double> said = owners.tiles_by_rank(mask, head);
      for (std::size_t r = 0; r < by_rank.size(); ++r) {
        EXPECT_NEAR(said[r], by_rank[r], 1e-6);
        tiles_of_rank[r] += said[r];
      }
    }
  }
  const PlanTiles tiles = plan_tiles(plan_, request_);
  for (std::size_t r = 0; r < tiles_of_rank.size(); ++r) EXPECT_NEAR(tiles_of_rank[r], tiles.by_rank[r], 1e-6) << r;
}

// The rank that computes more than half of a cell. Of fewer tokens than cells, one shows the token that its begin lies
// in.
TEST_P(TilesOfEveryPlan, MapsShowTheMainRankOfEachCell) {
  constexpr int kSide = DensityThumbnail::kSide;
  const bool used =
      std::ranges::any_of(plan_.accumulators, [](const Accumulator& a) { return a.axis == AttendedAxis::kInner; });
  if (!request_.attends(AttendedAxis::kInner) || !used) return;
  const std::int32_t tokens = plan_.inner_tokens;
  std::vector<std::int32_t> every(at(tokens + 1));
  std::iota(every.begin(), every.end(), 0);
  const TileOwners owners(plan_, AttendedAxis::kInner, every);
  const std::vector<OwnerMap> maps = owner_maps(plan_, AttendedAxis::kInner, request_.heads);
  ASSERT_EQ(std::ssize(maps), request_.heads);
  const auto cell = [&](int i) {
    return Span{i * tokens / kSide, std::max(i * tokens / kSide + 1, (i + 1) * tokens / kSide)};
  };
  for (int head = 0; head < request_.heads; ++head)
    for (int row = 0; row < kSide; ++row)
      for (int column = 0; column < kSide; ++column) {
        std::map<int, double> of_rank;
        double all = 0;
        for (std::int32_t q = cell(row).begin; q < cell(row).end; ++q)
          for (std::int32_t k = cell(column).begin; k < cell(column).end; ++k)
            for (const TileOwner& owner : owners.owners(head, q, k))
              of_rank[owner.rank] += owner.area, all += owner.area;
        std::int32_t main = all == 0 ? kNone : TileOwners::kSeveralRanks;
        for (const auto& [rank, area] : of_rank)
          if (area * 2 > all) main = rank;
        ASSERT_EQ(maps[at(head)][at(row * kSide + column)], main) << head << " " << row << " " << column;
      }
}

INSTANTIATE_TEST_SUITE_P(Library, TilesOfEveryPlan, ::testing::ValuesIn(testing::plan_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(HeadLoads, CountRowsAndColumns) {
  const BlockMask mask = testing::random_mask(2, 70 * 2, 2, 0.3, 5);
  const HeadLoads loads = head_loads(mask, 1);
  for (std::int32_t i = 0; i < 70; ++i) {
    int row = 0, column = 0;
    for (std::int32_t j = 0; j < 70; ++j) row += mask.active(1, i, j), column += mask.active(1, j, i);
    EXPECT_EQ(loads.rows[at(i)], row);
    EXPECT_EQ(loads.columns[at(i)], column);
  }
}

}  // namespace
}  // namespace spscope
