#include "backend/strategies/sharding.h"

#include <gtest/gtest.h>

#include <array>

namespace spscope {
namespace {

TEST(Mesh, ContiguousUlyssesGroupsAreNeighbours) {
  const Mesh mesh{2, 3, true};
  EXPECT_EQ(mesh.ulysses_groups(), (Groups{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(mesh.ring_groups(), (Groups{{0, 2, 4}, {1, 3, 5}}));
}

TEST(Mesh, StridedSwapsTheRoles) {
  const Mesh mesh{2, 3, false};
  EXPECT_EQ(mesh.ulysses_groups(), (Groups{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(mesh.ring_groups(), (Groups{{0, 1, 2}, {3, 4, 5}}));
}

Request blocks_request(int ranks, std::int32_t tokens, std::int32_t block) {
  return Request::attention(ranks, 1, 4, BlockMask(1, BlockMask::uniform_starts(tokens, block)));
}

std::vector<Span> spans_of(const Request& request, SetId id) {
  const auto spans = request.sets->spans(id);
  return {spans.begin(), spans.end()};
}

TEST(CutBlocks, NeverCutsABlock) {
  const Request request = blocks_request(2, 70, 16);  // blocks 0-16, 16-32, 32-48, 48-64, 64-70
  const auto runs = cut_blocks(request, AttendedAxis::kInner, 2, TokenOrder::kContiguous);
  EXPECT_EQ(spans_of(request, runs[0]), (std::vector<Span>{{0, 32}}));
  EXPECT_EQ(spans_of(request, runs[1]), (std::vector<Span>{{32, 70}}));
  const auto dealt = cut_blocks(request, AttendedAxis::kInner, 2, TokenOrder::kCyclic);
  EXPECT_EQ(spans_of(request, dealt[0]), (std::vector<Span>{{0, 16}, {32, 48}, {64, 70}}));
  EXPECT_EQ(spans_of(request, dealt[1]), (std::vector<Span>{{16, 32}, {48, 64}}));
}

TEST(CutBlocks, SlicesBlocksWhenThereAreFewerThanRanks) {
  const Request request = blocks_request(4, 24, 12);  // 2 blocks for 4 ranks: 2 slices each
  EXPECT_EQ(slices_for(request, AttendedAxis::kInner, 4), 2);
  const auto runs = cut_blocks(request, AttendedAxis::kInner, 4, TokenOrder::kContiguous);
  EXPECT_EQ(spans_of(request, runs[3]), (std::vector<Span>{{18, 24}}));
}

TEST(Usp, DegreesThatAreLeftOutFollowFromTheOthers) {
  Request request = blocks_request(12, 240, 10);
  request.heads = 8;
  const Strategy& usp = *find_strategy("usp");
  const auto degrees = [&](int ulysses, int ring) {
    Parameters p(usp.parameters());
    p.set("ulysses", std::int64_t{ulysses});
    p.set("ring", std::int64_t{ring});
    const Decision r = usp.decide(request, p);
    return std::pair(r.ulysses, r.ring);
  };
  EXPECT_EQ(degrees(3, 0), std::pair(3, 4));
  EXPECT_EQ(degrees(0, 2), std::pair(6, 2));
  EXPECT_EQ(degrees(0, 0), std::pair(6, 2));  // the largest divisor of 12 that 8 heads allow
}

TEST(Label, TellsChoicesApart) {
  Request request = blocks_request(4, 240, 10);
  request.heads = 4;
  const auto label = [&](const char* name, const std::vector<std::pair<const char*, ParameterValue>>& values) {
    const Strategy& strategy = *find_strategy(name);
    Parameters p(strategy.parameters());
    for (const auto& [key, value] : values) p.set(key, value);
    const Decision decision = strategy.decide(request, p);
    return strategy_label(strategy, std::array{Degrees{decision.ulysses, decision.ring}}, p);
  };
  EXPECT_EQ(label("ring", {{"order", std::string("cyclic")}}), "ring r4 cyclic");
  EXPECT_EQ(label("dbsp", {{"ulysses", std::int64_t{2}}}), "dbsp u2 r2");
  EXPECT_EQ(label("dbsp", {{"ulysses", std::int64_t{2}}, {"exchange", std::string("none")}}),
            "dbsp u2 r2 exchange=none");
  EXPECT_EQ(label("dbsp", {{"ulysses", std::int64_t{2}}, {"reward", 0.0}, {"refine", true}}),
            "dbsp u2 r2 reward=0 refine");
}

}  // namespace
}  // namespace spscope
