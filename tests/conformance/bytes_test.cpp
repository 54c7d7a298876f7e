// What the communicator counts equals the closed forms of docs/strategies.md (without text): the sum over ranks is N
// times the table for any split of tokens with equal heads, and each rank has its share where tokens are cut evenly.
#include <gtest/gtest.h>

#include <numeric>

#include "backend/execute/execute.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

constexpr int kHeads = 8, kHeadDim = 4;

Request dense_request(int ranks, int heads, std::int32_t tokens, Dtype dtype) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, 4));
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k) mask.set(head, q, k);
  return Request::attention(ranks, heads, kHeadDim, std::move(mask), dtype);
}

// Bytes of one whole tensor.
std::int64_t tensor_bytes(const Request& request) {
  return std::int64_t{request.heads} * request.head_dim * request.inner_tokens * dtype_bytes(request.dtype);
}

std::vector<std::int64_t> counted(const Request& request, std::string_view name, int ulysses = 0, int ring = 0) {
  const Strategy& strategy = *find_strategy(name);
  Parameters setting(strategy.parameters());
  if (ulysses > 0) {
    setting.set("ulysses", std::int64_t{ulysses});
    setting.set("ring", std::int64_t{ring});
  }
  const Plan plan = make_plan(strategy, request, setting);
  return execute(plan, request, generate_activations(request, 1)).traffic.sent;
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

struct Mesh {
  int ulysses, ring;
};
constexpr Mesh kMeshes[] = {{8, 1}, {4, 2}, {2, 4}, {1, 8}, {4, 1}, {2, 2}, {1, 4}};

TEST(CountedBytes, OfUspAreThoseOfTheTable) {
  for (const auto& [ulysses, ring] : kMeshes)
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
      for (const std::int32_t tokens : {64, 67}) {
        const Request request = dense_request(ulysses * ring, kHeads, tokens, dtype);
        const std::int64_t whole = tensor_bytes(request), ranks = ulysses * ring;
        const std::vector<std::int64_t> sent = counted(request, "usp", ulysses, ring);
        // N x [4 (U-1)/U + 2] m, with m = M / N.
        EXPECT_EQ(sum(sent) * ulysses, whole * (4 * (ulysses - 1) + 2 * (ring - 1) * ulysses))
            << ulysses << " x " << ring << ", " << tokens << " tokens";
        if (tokens != 64) continue;
        for (const std::int64_t bytes : sent) EXPECT_EQ(bytes * ranks, sum(sent)) << ulysses << " x " << ring;
      }
}

TEST(CountedBytes, OfARingAreTwiceTheOtherRanksKeys) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const Request request = dense_request(ranks, kHeads, 67, Dtype::kBf16);
    EXPECT_EQ(sum(counted(request, "ring")), 2 * (ranks - 1) * tensor_bytes(request)) << ranks;
  }
}

// 4 M (1 - sum_r t_r h_r / (L H)) for any split: tokens and heads that do not divide.
TEST(CountedBytes, OfUlyssesFollowTheSharesOfTokensAndHeads) {
  for (const int ranks : {1, 2, 3, 5, 7}) {
    const Request request = dense_request(ranks, 7, 67, Dtype::kFp32);
    std::int64_t kept = 0;  // tokens x heads that stay where they are
    for (int r = 0; r < ranks; ++r)
      kept += (67 * (r + 1) / ranks - 67 * r / ranks) * (7 * (r + 1) / ranks - 7 * r / ranks);
    const std::int64_t cell = kHeadDim * dtype_bytes(request.dtype);
    EXPECT_EQ(sum(counted(request, "ulysses")), 4 * cell * (67 * 7 - kept)) << ranks;
  }
}

}  // namespace
}  // namespace spscope
