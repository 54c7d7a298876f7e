// Plans of a hostile file: any field may say anything, under right checksums and hashes. What reads plans refuses them
// or comes to its end; under the sanitizers also without a wrong access or an overflow.
#include <fmt/format.h>

#include "backend/analysis/comparison.h"
#include "backend/analysis/rank_times.h"
#include "backend/plan/verify.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/imbalance.h"
#include "backend/store/plan_codec.h"
#include "backend/store/sqlite/value_text.h"
#include "tests/support/plan_corruption.h"
#include "tests/support/plan_executor.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::EditablePlan;
using testing::sample_plan;
using testing::TemporaryFolder;

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

class HostilePlanFile : public ::testing::Test {
 protected:
  HostilePlanFile() { testing::write_sample(path_); }
  // Puts another plan in the place of the file's.
  void replace_plan(const Plan& plan) {
    std::string hex;
    for (std::uint8_t byte : encode_plan(plan)) hex += fmt::format("{:02x}", byte);
    testing::tamper(path_, fmt::format("UPDATE plan SET data = x'{}', hash = '{}', num_ops = {}", hex,
                                       hash_text(plan_hash(plan)), plan.ops.size()));
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "out.db";
};

TEST_F(HostilePlanFile, NamedHarmIsRefusedByComparison) {
  struct Harm {
    const char* what;
    void (*apply)(Plan&);
  };
  const Harm harms[] = {
      {"a division by zero", [](Plan& p) { p.tensor_width[static_cast<int>(Tensor::kQ)] = 0; }},
      {"an accumulator that is none",
       [](Plan& p) { std::ranges::find(p.posts, PostKind::kAttend, &Post::kind)->acc = kNone; }},
      {"2^60 sources of a view",
       [](Plan& p) {
         for (int i = 0; i < 60; ++i) {
           Value view = p.values.back();
           const auto begin = static_cast<std::int32_t>(p.value_refs.size());
           p.value_refs.insert(p.value_refs.end(), 2, static_cast<ValueId>(p.values.size()) - 1);
           view.given = false;
           view.sources = {begin, begin + 2};
           p.values.push_back(view);
         }
         std::ranges::find(p.posts, PostKind::kAttend, &Post::kind)->src = static_cast<ValueId>(p.values.size()) - 1;
       }},
      {"an op that nothing lets start", [](Plan& p) { p.dep_refs[0] = static_cast<OpId>(p.ops.size()) - 1; }},
      {"work that overflows",
       [](Plan& p) {
         for (Op& op : p.ops) op.flops = std::numeric_limits<std::int64_t>::max();
       }},
  };
  for (const Harm& harm : harms) {
    SCOPED_TRACE(harm.what);
    Plan plan = sample_plan();
    harm.apply(plan);
    replace_plan(plan);
    const Error error = testing::error_of([&] { compare_store(StoreReader(path_)); });
    EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
    EXPECT_NE(std::string(error.what()).find("it breaks the rule"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace spscope
