#include "backend/store/plan_codec.h"

#include <gtest/gtest.h>

#include "tests/support/plan_library.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::sample_plan;

// Everything that plan_hash leaves out, and all bytes of every rank.
void expect_equal(const Plan& a, const Plan& b) {
  EXPECT_EQ(plan_hash(a), plan_hash(b));
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(bytes_sent(a), bytes_sent(b));
  EXPECT_EQ(bytes_received(a), bytes_received(b));
  ASSERT_EQ(a.ops.size(), b.ops.size());
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) EXPECT_EQ(a.values[i].given, b.values[i].given);
}

// Kernels, pending sums, views, merges, pulls, pushes and barriers.
TEST(PlanCodec, RoundTripsEveryPlanOfTheLibrary) {
  for (const testing::PlanCase& c : testing::plan_cases()) {
    SCOPED_TRACE(c.name);
    const Plan plan = testing::build(c.plan, testing::layer_request(c.shape, c.kind));
    expect_equal(plan, decode_plan(encode_plan(plan)));
  }
}

TEST(PlanCodec, NamesTheRuleThatAPlanBreaks) {
  Plan plan = sample_plan();
  plan.tensor_width[static_cast<int>(Tensor::kQ)] = 0;
  const Error error = testing::error_of([&] { decode_plan(encode_plan(plan)); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
  EXPECT_NE(std::string(error.what()).find("rule type: the plan has q 0"), std::string::npos) << error.what();
}

TEST(PlanCodec, EveryTruncationIsRefused) {
  const std::vector<std::uint8_t> bytes = encode_plan(sample_plan(2, "ring"));
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(decode_plan(std::span(bytes).first(n)), Error) << n << " of " << bytes.size();
}

}  // namespace
}  // namespace spscope
