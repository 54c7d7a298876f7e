// Plans and masks as bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "backend/analysis/rank_times.h"
#include "backend/base/bytes.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/imbalance.h"
#include "backend/store/mask_codec.h"
#include "backend/store/plan_codec.h"
#include "tests/support/plan_corruption.h"
#include "tests/support/plan_executor.h"
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

// Plans of a hostile file: any field may say anything, under right checksums and hashes. What reads plans refuses them
// or comes to its end; under the sanitizers also without a wrong access or an overflow.
using testing::EditablePlan;

// The encoder writes sets by content and boxes by rank: it has no way to write ids that name no set.
bool can_be_written(const Plan& plan) {
  const auto has = [&](const Box& box) {
    return plan.sets->has(box.columns) && plan.sets->has(box.outer) && plan.sets->has(box.inner);
  };
  const auto placed = [&](const Placement& placement) {
    return placement.ranks() == plan.ranks && std::ranges::all_of(placement.boxes(), has);
  };
  return std::ranges::all_of(plan.values, [&](const Value& v) { return placed(v.placement); }) &&
         std::ranges::all_of(plan.outputs, [&](const Output& o) { return placed(o.placement); }) &&
         std::ranges::all_of(plan.messages, [&](const Message& m) { return has(m.box); }) &&
         std::ranges::all_of(plan.ops, [&](const Op& op) {
           return plan.sets->has(op.seq) && has({op.heads, op.q, op.k});
         });
}

// What is done with the plans of a file.
void analyse(const Plan& plan) {
  const ImbalanceRatios ratios = imbalance_ratios(plan, attended_area(plan));
  EXPECT_GE(ratios.plain, 0);
  op_durations(plan, {.attend_ns_per_launch = 1, .move_ns_per_byte = 0.1, .gemm_ns_per_flop = 1e-3});
  Timeline timeline;
  timeline.ops.resize(plan.ops.size(), {1, 2, 3});
  rank_times(plan, timeline);
  attention_times(plan, timeline);
  bytes_sent(plan);
}

// One field of a plan changed, or two where the first left every reference in range; nothing when it cannot be written.
std::optional<Plan> mutant(const Request& request, EditablePlan editable, Rng& rng) {
  while (testing::mutate(editable, request, rng).empty()) continue;
  Plan plan = editable.flatten();
  if (rng.below(2) == 0 && testing::can_be_followed(plan, request)) {  // the mutator follows references
    testing::mutate(editable, request, rng);
    plan = editable.flatten();
  }
  if (!can_be_written(plan)) return std::nullopt;
  return plan;
}

TEST(HostilePlan, EveryFieldIsRefusedOrAnalysed) {
  Rng rng(5);
  int refused = 0, analysed = 0;
  for (const testing::PlanCase& c : testing::mutation_cases()) {
    const Request request = testing::layer_request(c.shape, c.kind);
    const EditablePlan editable(testing::build(c.plan, request));
    for (int i = 0; i < 150; ++i) {
      const std::optional<Plan> plan = mutant(request, editable, rng);
      if (!plan) continue;
      try {
        analyse(decode_plan(encode_plan(*plan)));
        ++analysed;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(analysed, 300);
}

using testing::sample_mask;

TEST(MaskCodec, RoundTripsBitsAndBorders) {
  for (const BlockMask& mask :
       {sample_mask(), sample_mask(1, 64 * 3, 3), sample_mask(2, 65 * 5 + 1, 5), sample_mask(3, 1, 1)}) {
    const BlockMask read = decode_mask(encode_mask(mask));
    EXPECT_EQ(read.hash(), mask.hash());
    ASSERT_EQ(read.heads(), mask.heads());
    EXPECT_TRUE(std::equal(read.block_starts().begin(), read.block_starts().end(), mask.block_starts().begin(),
                           mask.block_starts().end()));
    for (int h = 0; h < mask.heads(); ++h)
      for (std::int32_t q = 0; q < mask.blocks(); ++q)
        for (std::int32_t k = 0; k < mask.blocks(); ++k) ASSERT_EQ(read.active(h, q, k), mask.active(h, q, k));
  }
}

TEST(MaskCodec, DamageIsRefused) {
  const std::vector<std::uint8_t> sound = encode_mask(sample_mask(2, 70 * 4, 4));
  for (std::size_t n = 0; n < sound.size(); n += 7) EXPECT_THROW(decode_mask(std::span(sound).first(n)), Error);
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes(sound.begin(), sound.end() - 4);
    // Mostly in the header, where the sizes are.
    const std::size_t at =
        static_cast<std::size_t>(rng.below(i % 4 == 0 ? static_cast<std::int64_t>(bytes.size()) : 24));
    bytes[at] = static_cast<std::uint8_t>(rng.bits());
    const std::uint32_t crc = crc32c(bytes);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(crc >> shift));
    try {
      EXPECT_EQ(encode_mask(decode_mask(bytes)), bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
    }
  }
}

// The density of each cell from single (query, key) pairs of tokens. A token that two cells share counts in parts.
std::vector<double> brute_force(const BlockMask& mask, int head) {
  constexpr int kSide = DensityThumbnail::kSide;
  const double cell_tokens = static_cast<double>(mask.tokens()) / kSide;
  std::vector<std::int32_t> block_of;
  for (std::int32_t b = 0; b < mask.blocks(); ++b)
    block_of.insert(block_of.end(), static_cast<std::size_t>(mask.block(b).size()), b);
  const auto shared = [&](int token, int cell) {
    return std::max(0.0, std::min(token + 1.0, (cell + 1) * cell_tokens) - std::max<double>(token, cell * cell_tokens));
  };
  std::vector<double> density(kSide * kSide, 0);
  for (int q = 0; q < mask.tokens(); ++q)
    for (int k = 0; k < mask.tokens(); ++k) {
      if (!mask.active(head, block_of[static_cast<std::size_t>(q)], block_of[static_cast<std::size_t>(k)])) continue;
      for (int y = static_cast<int>(q / cell_tokens); y < kSide && shared(q, y) > 0; ++y)
        for (int x = static_cast<int>(k / cell_tokens); x < kSide && shared(k, x) > 0; ++x)
          density[static_cast<std::size_t>(y * kSide + x)] += shared(q, y) * shared(k, x) / (cell_tokens * cell_tokens);
    }
  return density;
}

TEST(Thumbnail, EqualsTheDensityOfTokenPairs) {
  // More blocks than cells, fewer blocks, fewer tokens than cells, ragged ends.
  for (const BlockMask& mask : {sample_mask(2, 331, 3), sample_mask(1, 250, 16), sample_mask(1, 50, 7)})
    for (int head = 0; head < mask.heads(); ++head) {
      const DensityThumbnail picture = make_thumbnails(mask)[static_cast<std::size_t>(head)];
      const std::vector<double> expected = brute_force(mask, head);
      ASSERT_EQ(picture.cells.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(picture.cells[i], expected[i] * 255, 0.51) << i;
    }
}

}  // namespace
}  // namespace spscope
