#include "backend/analysis/explanation.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TimeTerms terms_of(std::initializer_list<std::pair<TimeTerm, std::int64_t>> list) {
  TimeTerms terms;
  for (const auto& [term, ns] : list) terms[term] = ns;
  return terms;
}

// The faster one takes 100 ns, all of it tiles. Of the slower one's 160 the means say 50 are on the wire inside nodes,
// but its path has them between nodes.
TEST(PassReason, NamesWhatIsOnThePath) {
  const TimeTerms fast = terms_of({{TimeTerm::kTiles, 100}});
  const TimeTerms mean = terms_of({{TimeTerm::kTiles, 90}, {TimeTerm::kWireInside, 50}, {TimeTerm::kWireBetween, 20}});
  const TimeTerms path = terms_of({{TimeTerm::kTiles, 95}, {TimeTerm::kWireBetween, 65}});
  const auto reason = pass_reason(mean, path, fast, fast);
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->difference_ns, 60);
  EXPECT_EQ(reason->mean_cause, Cause::kWireInside);
  EXPECT_EQ(reason->mean_cause_ns, 50);
  EXPECT_EQ(reason->path_cause, Cause::kWireBetween);
  EXPECT_EQ(reason->path_cause_ns, 65);
  EXPECT_TRUE(reason->means_mislead);
  EXPECT_EQ(pass_reason_text(*reason, "ring r16"),
            "ring r16 takes 60 ns longer: along the critical path 65 ns more for data on the wire between nodes; by "
            "means over ranks 50 ns for data on the wire inside nodes, none of which is on the critical path");
  EXPECT_FALSE(pass_reason(fast, fast, mean, path)) << "the faster one has no reason";
}

// Ranks that wait for one with more tiles: the path says tiles, and both are right. Of one that is late because of a
// transfer only the transfer is.
TEST(PassReason, OfLateRanks) {
  const TimeTerms fast = terms_of({{TimeTerm::kTiles, 100}});
  const TimeTerms mean = terms_of({{TimeTerm::kTiles, 100}, {TimeTerm::kLatePeer, 40}});
  const auto of_tiles = pass_reason(mean, terms_of({{TimeTerm::kTiles, 140}}), fast, fast);
  const auto of_wire = pass_reason(mean, terms_of({{TimeTerm::kTiles, 100}, {TimeTerm::kLatency, 40}}), fast, fast);
  ASSERT_TRUE(of_tiles && of_wire);
  EXPECT_EQ(of_tiles->mean_cause, Cause::kLateRank);
  EXPECT_EQ(of_tiles->path_cause, Cause::kTiles);
  EXPECT_FALSE(of_tiles->means_mislead);
  EXPECT_TRUE(of_wire->means_mislead);
}

}  // namespace
}  // namespace spscope
