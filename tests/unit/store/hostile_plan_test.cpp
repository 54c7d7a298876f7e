// Plans of a hostile file: any field may say anything, under right checksums and hashes. What reads plans refuses them
// or comes to its end; under the sanitizers also without a wrong access or an overflow.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "backend/analysis/rank_times.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/imbalance.h"
#include "backend/store/plan_codec.h"
#include "tests/support/plan_corruption.h"
#include "tests/support/plan_executor.h"

namespace spscope {
namespace {

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

}  // namespace
}  // namespace spscope
