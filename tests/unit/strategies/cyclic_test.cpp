// Strategies without an exchange: cyclic and snake. What usp and Ulysses move, differently divided.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/index_groups.h"

namespace spscope {
namespace {

constexpr int kCyclicHeads = 8, kCyclicHeadDim = 16;
constexpr std::int32_t kCyclicTokens = 512;

// Heads of very different density, each a band around the diagonal.
Request band_request(int ranks) {
  BlockMask mask(kCyclicHeads, BlockMask::uniform_starts(kCyclicTokens, 16));
  for (int head = 0; head < kCyclicHeads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (std::abs(q - k) <= 3 * head) mask.set(head, q, k);
  Request request = Request::attention(ranks, kCyclicHeads, kCyclicHeadDim, std::move(mask));
  define_outputs(request);
  return request;
}

Parameters with_degrees(const char* name, int ulysses, int ring) {
  Parameters parameters(find_strategy(name)->parameters());
  parameters.set("ulysses", std::int64_t{ulysses});
  parameters.set("ring", std::int64_t{ring});
  return parameters;
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

TEST(Cyclic, IsMoreEvenThanUspAndMovesTheSame) {
  const Request request = band_request(8);
  const Strategy &cyclic = *find_strategy("cyclic"), &usp = *find_strategy("usp");
  for (const auto& [ulysses, ring] : {std::pair{4, 2}, {2, 4}, {1, 8}}) {
    const Parameters mine = with_degrees("cyclic", ulysses, ring), theirs = with_degrees("usp", ulysses, ring);
    const Decision decision = cyclic.decide(request, mine);
    EXPECT_EQ(decision.query_blocks, cyclic_groups(32, ring));
    EXPECT_LT(decision_imbalance(request, decision), decision_imbalance(request, usp.decide(request, theirs)));
    EXPECT_EQ(sum(bytes_sent(make_plan(cyclic, request, mine))), sum(bytes_sent(make_plan(usp, request, theirs))));
  }
}

TEST(Snake, DealsTheKnownHeadsAndMovesWhatUlyssesMoves) {
  Request request = band_request(4);
  const Strategy &snake = *find_strategy("snake"), &ulysses = *find_strategy("ulysses");
  const Decision decision = snake.decide(request, {});
  EXPECT_EQ(decision.heads, (IndexGroups{{0, 7}, {1, 6}, {2, 5}, {3, 4}}));
  EXPECT_EQ(bytes_sent(make_plan(snake, request, {}, decision)), bytes_sent(make_plan(ulysses, request, {})));
  request.known_masks[1] = nullptr;
  EXPECT_EQ(snake.decide(request, {}).heads, even_groups(kCyclicHeads, 4));
}

}  // namespace
}  // namespace spscope
