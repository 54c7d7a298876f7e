// The reference is attention, and its verdict sees small errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend/execute/reference/known_faults.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::small_request;
using testing::small_spatiotemporal_request;

// Softmax attention token by token, from the definition, with sums of type Number.
template <typename Number = double>
std::vector<OutputTensor> attention(const Request& request, const Activations& a) {
  std::vector<OutputTensor> outputs;
  for (int layer = 0; layer < static_cast<int>(a.attentions.size()); ++layer) {
    const bool inner = layer == 0;
    const BlockMask& mask = request.executed_mask(inner ? AttendedAxis::kInner : AttendedAxis::kOuter).mask();
    const AttentionInput& in = a.attentions[static_cast<std::size_t>(layer)];
    const auto block_of = [&](std::int32_t token) {
      std::int32_t block = 0;
      while (mask.block_starts()[static_cast<std::size_t>(block) + 1] <= token) ++block;
      return block;
    };
    OutputTensor& out = outputs.emplace_back();
    out.layer = layer;
    out.values.assign(in.q.size(), 0);
    const std::int32_t keys = inner ? a.inner_tokens : a.outer_tokens;
    for (int head = 0; head < a.heads; ++head)
      for (std::int32_t o = 0; o < a.outer_tokens; ++o)
        for (std::int32_t i = 0; i < a.inner_tokens; ++i) {
          const std::int64_t row = a.row(0, head, o, i);
          std::vector<Number> sum(static_cast<std::size_t>(a.head_dim), 0);
          std::vector<std::pair<std::int64_t, Number>> scores;  // by row of the key
          Number weights = 0, largest = -std::numeric_limits<Number>::infinity();
          for (std::int32_t key = 0; key < keys; ++key) {
            if (!mask.active(head, block_of(inner ? i : o), block_of(key))) continue;
            const std::int64_t other = inner ? a.row(0, head, o, key) : a.row(0, head, key, i);
            Number score = 0;
            for (int d = 0; d < a.head_dim; ++d)
              score += Number{in.q[row * a.head_dim + d]} * in.k[other * a.head_dim + d];
            scores.emplace_back(other, score / std::sqrt(static_cast<Number>(a.head_dim)));
            largest = std::max(largest, scores.back().second);
          }
          for (const auto& [other, score] : scores) {
            const Number weight = std::exp(score - largest);
            weights += weight;
            for (int d = 0; d < a.head_dim; ++d)
              sum[static_cast<std::size_t>(d)] += weight * in.v[other * a.head_dim + d];
          }
          for (int d = 0; d < a.head_dim && weights > 0; ++d)
            out.values[row * a.head_dim + d] = static_cast<float>(sum[static_cast<std::size_t>(d)] / weights);
        }
  }
  return outputs;
}

TEST(Reference, IsSoftmaxAttentionOverTheActiveBlocks) {
  for (const bool two_axes : {false, true}) {
    const Request request = two_axes ? small_spatiotemporal_request(1) : small_request(1);
    const Activations a = generate_activations(request, 2);
    const Verification v = Reference(request, a, VerifyExtent::kFull, 0).check(attention(request, a));
    EXPECT_EQ(v.verdict, Verdict::kPassed);
    EXPECT_EQ(v.num_rows, a.num_rows() * (two_axes ? 2 : 1));
    EXPECT_LT(v.max_error, 1e-12);
  }
}

TEST(Reference, LeavesOnceInterrupted) {
  const Request request = small_request(1);
  const std::atomic<bool> interrupt{true};
  const Activations none = generate_activations(request, 2, nullptr, &interrupt);
  EXPECT_EQ(none.attentions[0].q, std::vector<float>(none.attentions[0].q.size(), 0.0f));
  EXPECT_EQ(Reference(request, generate_activations(request, 2), VerifyExtent::kFull, 0, &interrupt).num_rows(), 0);
}

TEST(Reference, ARowThatMissesOneBlockOfKeysFails) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request request = small_request(1, dtype, 1.0);
    const Activations a = generate_activations(request, 2);
    Request other = small_request(1, dtype, 1.0);
    BlockMask mask(4, BlockMask::uniform_starts(100, 16));
    for (int head = 0; head < 4; ++head)
      for (std::int32_t q = 0; q < mask.blocks(); ++q)
        for (std::int32_t k = 0; k < mask.blocks(); ++k) mask.set(head, q, k, !(head == 2 && q == 6 && k == 6));
    other.executed_masks[1] = std::make_shared<MaskCounter>(other.sets, mask);
    const Reference reference(request, a, VerifyExtent::kFull, 0);
    EXPECT_EQ(reference.check(attention(request, a)).verdict, Verdict::kPassed);
    const Verification v = reference.check(attention(other, a));
    EXPECT_EQ(v.verdict, Verdict::kFailed);
    EXPECT_EQ(v.worst_head, 2);
    EXPECT_GE(v.worst_inner, 96);
  }
}

Activations scaled(const Request& request, float factor) {  // q and k: scores spread by its square
  Activations a = generate_activations(request, 2);
  for (AttentionInput& input : a.attentions)
    for (std::vector<float>* values : {&input.q, &input.k})
      for (float& value : *values) value *= factor;
  return a;
}

// q = g + [x, x] and k = g' + [y, -y] with large x and y: the products cancel, and the scores are small.
Activations cancelling(const Request& request, float size) {
  Activations a = generate_activations(request, 2);
  const auto half = static_cast<std::size_t>(request.head_dim / 2);
  for (AttentionInput& input : a.attentions)
    for (std::size_t row = 0; row < input.q.size(); row += 2 * half)
      for (std::size_t i = 0; i < half; ++i) {
        const float x = size * input.v[row + i], y = size * input.v[row + half + i];
        input.q[row + i] += x, input.q[row + half + i] += x;
        input.k[row + i] += y, input.k[row + half + i] -= y;
      }
  return a;
}

// Sums of floats in the order of a loop pass whatever the scores, small after cancellation too, and one percent of a
// row is seen nevertheless. Scores that fp32 cannot hold are not checked, and never called right.
TEST(Reference, ToleranceFollowsTheProductsOfScores) {
  const Request request = small_request(1, Dtype::kFp32, 1.0);
  for (const Activations& a : {scaled(request, 1), scaled(request, 2), scaled(request, 3.5), scaled(request, 10),
                               cancelling(request, 10), cancelling(request, 30)}) {
    const Reference reference(request, a, VerifyExtent::kFull, 0);
    std::vector<OutputTensor> outputs = attention<float>(request, a);
    const Verification v = reference.check(outputs);
    EXPECT_EQ(v.verdict, Verdict::kPassed) << v.max_error;
    EXPECT_GT(v.max_error, 0);
    for (float& value : outputs.front().values) value *= 1.01f;
    EXPECT_EQ(reference.check(outputs).verdict, Verdict::kFailed);
  }
  const Activations huge = scaled(request, 1e4f);
  const Reference reference(request, huge, VerifyExtent::kFull, 0);
  std::vector<OutputTensor> outputs = attention<float>(request, huge);
  const Verification v = reference.check(outputs);
  EXPECT_EQ(v.verdict, Verdict::kSkipped);
  EXPECT_GT(v.num_unjudged, 0);
  outputs.front().max_replica_error = 0.1;  // of a row that is not judged, for all that is known
  EXPECT_EQ(reference.check(outputs).verdict, Verdict::kSkipped);
  for (const double apart : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    outputs.front().max_replica_error = apart;
    EXPECT_EQ(reference.check(outputs).verdict, Verdict::kFailed);
  }
  outputs.front().max_replica_error = 0;
  outputs.front().values[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reference.check(outputs).verdict, Verdict::kFailed);
}

TEST(Reference, ToleranceOfAttention) {
  const double u = std::ldexp(1, -24);
  EXPECT_EQ(attention_tolerance(Dtype::kFp32, 64, 100, 0, 0), 1e-10);
  EXPECT_NEAR(*attention_tolerance(Dtype::kFp32, 64, 600, 0, 7), 1e-10 + 16 * 7 * (6.25e-14 / 3 + 100 * u * u), 1e-20);
  EXPECT_NEAR(*attention_tolerance(Dtype::kFp32, 64, 0, 100, 0), 1e-10 + std::pow(u * 8 * 100, 2), 1e-20);
  EXPECT_EQ(attention_tolerance(Dtype::kBf16, 64, 100, 100, 0), 5e-5);
  EXPECT_NEAR(*attention_tolerance(Dtype::kBf16, 64, 100, 100, 3), 5e-5 + 16 * std::pow(2, -18), 1e-18);
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    EXPECT_TRUE(attention_tolerance(dtype, 64, 100, std::sqrt(1.9e-5) / (u * 8), 1));
    EXPECT_FALSE(attention_tolerance(dtype, 64, 100, std::sqrt(2.1e-5) / (u * 8), 1));
    EXPECT_FALSE(attention_tolerance(dtype, 64, 100, std::numeric_limits<double>::infinity(), 1));
  }
}

TEST(Reference, ToleranceOfLayersFollowsTheWidthOfRows) {
  EXPECT_NEAR(layer_tolerance(Dtype::kBf16, 75600, 5120), 5e-4, 1e-5);
  EXPECT_NEAR(layer_tolerance(Dtype::kBf16, 10000, 8), 5e-2, 1e-12);  // 10,000^(4/8)
  EXPECT_NEAR(layer_tolerance(Dtype::kFp32, 256, 16), 4e-10, 1e-20);  // 256^(4/16)
  EXPECT_NEAR(layer_tolerance(Dtype::kBf16, 10000, 4), 5e-2, 1e-12);  // at most 100 times that of wide rows
}

TEST(Reference, ReplicasThatDisagreeAndAMissingOrUnwrittenOutputFail) {
  const Request request = small_request(1);
  const Activations a = generate_activations(request, 2);
  const Reference reference(request, a, VerifyExtent::kFull, 0);
  EXPECT_EQ(reference.check({}).verdict, Verdict::kFailed);
  std::vector<OutputTensor> outputs = attention(request, a);
  outputs.front().max_replica_error = 2e-9;
  EXPECT_EQ(reference.check(outputs).verdict, Verdict::kFailed);
  EXPECT_EQ(reference.check(outputs).max_error, 2e-9);
  outputs.front().max_replica_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reference.check(outputs).verdict, Verdict::kFailed);
  outputs.front().max_replica_error = 5e-11;
  EXPECT_EQ(reference.check(outputs).verdict, Verdict::kPassed);
  outputs.front().values[123] = std::numeric_limits<float>::quiet_NaN();
  const Verification v = reference.check(outputs);
  EXPECT_EQ(v.verdict, Verdict::kFailed);
  EXPECT_TRUE(std::isinf(v.max_error));
  EXPECT_TRUE(std::isnan(v.max_abs_error));
}

TEST(Reference, ASampleHasEveryHeadAndSeesABadHead) {
  // 8,000 tokens: a sample is 4,096 of 16,000 rows of one key block each.
  BlockMask mask(2, BlockMask::uniform_starts(8000, 100));
  for (int head = 0; head < 2; ++head)
    for (std::int32_t b = 0; b < mask.blocks(); ++b) mask.set(head, b, b);
  const Request request = Request::attention(1, 2, 2, std::move(mask), Dtype::kFp32);
  const Activations a = generate_activations(request, 2);
  const Reference sample(request, a, VerifyExtent::kSample, 4);
  EXPECT_GT(sample.num_rows(), 2);
  EXPECT_LT(sample.num_rows(), a.num_rows());
  ExecuteResult result = execute(testing::plan_of(request, "single"), request, a);
  EXPECT_EQ(sample.check(result.outputs).verdict, Verdict::kPassed);
  std::vector<float>& values = result.outputs.front().values;
  for (std::size_t i = values.size() / 2; i < values.size(); ++i) values[i] *= 1.001f;
  const Verification v = sample.check(result.outputs);
  EXPECT_EQ(v.verdict, Verdict::kFailed);
  EXPECT_EQ(v.worst_head, 1);
}

TEST(Reference, OffIsSkippedAndNotPassed) {
  const Request request = small_request(1);
  const Reference off(request, generate_activations(request, 2), VerifyExtent::kOff, 0);
  EXPECT_EQ(off.check({}).verdict, Verdict::kSkipped);
}

// Of 64 tokens every eighth was compared. What is said of a rank is so of all its rows.
TEST(KnownFaults, ARankIsNamedOnceEveryRowOfItIsKnownToBe0) {
  const BlockMask mask(1, BlockMask::uniform_starts(64, 16));
  const RightAttention attention{.head_rows = [&](std::int32_t, int) { return HeadRows{.mask = &mask}; },
                                 .heads = 1,
                                 .head_dim = 1,
                                 .tokens = 64,
                                 .parts = {4}};
  const auto said = [&](Span zero, Span compared_zero) {
    ComparedRows rows;
    for (std::int32_t token = 0; token < 64; token += 8) {
      const bool off = compared_zero.begin <= token && token < compared_zero.end;
      rows.places.push_back({0, token});
      rows.found.push_back(off ? 0 : 1);
      rows.right.push_back(1);
      rows.errors.push_back(off ? 1 : 0);
      rows.limits.push_back(0.5);
    }
    const auto left_zero = [&](std::int32_t token, std::int32_t) { return zero.begin <= token && token < zero.end; };
    return known_faults(attention, rows, left_zero).at(0).text;
  };
  EXPECT_EQ(said({16, 32}, {16, 32}), "the rows of rank 1 of 4 are 0: tokens 16 to 31");
  EXPECT_EQ(said({0, 48}, {0, 48}), "the rows of ranks 0, 1 and 2 of 4 are 0: tokens 0 to 15, 16 to 31 and 32 to 47");
  EXPECT_EQ(said({16, 31}, {16, 32}), "every row that was compared and is off is 0");
  EXPECT_EQ(said({0, 64}, {0, 64}), "all of its rows are 0");
  EXPECT_EQ(said({0, 63}, {0, 64}), "every row that was compared and is off is 0");
}

}  // namespace
}  // namespace spscope
