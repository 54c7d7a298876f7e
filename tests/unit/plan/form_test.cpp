// check_form() finds every damage that would make readers of a plan from a file fail. Decoding alone accepts each one.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backend/plan/verify.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

constexpr std::int32_t kHuge = std::numeric_limits<std::int32_t>::max();

Plan ring_plan() { return build(strategy_plan("ring"), layer_request({.ranks = 3}, LayerKind::kAttention)); }

Post& post_of_kind(Plan& plan, PostKind kind) { return *std::ranges::find(plan.posts, kind, &Post::kind); }
Op& op_of_kind(Plan& plan, PostKind kind) {
  return *std::ranges::find_if(plan.ops, [&](const Op& op) { return plan.kind_of(op) == kind; });
}

struct Damage {
  const char* name;
  Rule rule;
  void (*apply)(Plan&);
};

const Damage kDamages[] = {
    {"no_ranks", Rule::kType, [](Plan& p) { p.ranks = 0; }},
    {"no_batch", Rule::kType, [](Plan& p) { p.batch = 0; }},
    {"no_width", Rule::kType, [](Plan& p) { p.tensor_width[0] = 0; }},
    {"no_tokens", Rule::kType, [](Plan& p) { p.outer_tokens = 0; }},
    {"no_sets", Rule::kDangling, [](Plan& p) { p.sets = nullptr; }},
    {"huge_tensors", Rule::kType, [](Plan& p) { p.outer_tokens = p.tensor_width[0] = p.tensor_width[1] = kHuge; }},
    {"huge_tables", Rule::kType,
     [](Plan& p) {
       p.ranks = 1 << 20;
       p.masks.resize(1000, p.masks[0]);
       p.accumulators.resize(1000, p.accumulators[0]);
     }},
    {"lanes", Rule::kType, [](Plan& p) { p.lanes = 1000; }},
    {"no_keys", Rule::kDangling, [](Plan& p) { post_of_kind(p, PostKind::kAttend).src = kNone; }},
    {"no_accumulator", Rule::kDangling, [](Plan& p) { post_of_kind(p, PostKind::kAttend).acc = kNone; }},
    {"no_result", Rule::kDangling, [](Plan& p) { post_of_kind(p, PostKind::kExchange).dst = kNone; }},
    {"no_queries", Rule::kDangling, [](Plan& p) { p.accumulators[0].q = kNone; }},
    {"no_mask", Rule::kDangling, [](Plan& p) { p.accumulators[0].mask = kNone; }},
    {"no_group", Rule::kDangling, [](Plan& p) { op_of_kind(p, PostKind::kExchange).group = kNone; }},
    {"no_output", Rule::kDangling, [](Plan& p) { p.outputs[0].value = kNone; }},
    {"no_member", Rule::kDangling, [](Plan& p) { p.groups[0].end = p.groups[0].begin; }},
    {"member_twice", Rule::kDangling, [](Plan& p) { p.group_members[1] = p.group_members[0]; }},
    {"compute_lane", Rule::kDangling, [](Plan& p) { post_of_kind(p, PostKind::kExchange).lane = 0; }},
    {"box_outside", Rule::kDangling, [](Plan& p) { p.messages[0].box.inner = p.sets->span(0, kHuge); }},
    {"output_outside", Rule::kDangling,
     [](Plan& p) {
       p.outputs[0].placement = Placement::make(p.ranks, [&](int) {
         return BoxList{{p.sets->span(0, 1), p.sets->span(0, 1), p.sets->span(0, kHuge)}};
       });
     }},
    {"attend_outside", Rule::kDangling, [](Plan& p) { op_of_kind(p, PostKind::kAttend).k = p.sets->span(0, kHuge); }},
    {"view_of_view", Rule::kDangling,
     [](Plan& p) {
       for (int i = 0; i < 60; ++i) {  // each of the one before it, twice: 2^60 bases
         Value view = p.values.back();
         view.given = false;
         const auto last = static_cast<ValueId>(p.values.size()) - 1;
         const auto begin = static_cast<std::int32_t>(p.value_refs.size());
         p.value_refs.insert(p.value_refs.end(), {last, last});
         view.sources = {begin, begin + 2};
         p.values.push_back(view);
       }
     }},
    {"shared_range", Rule::kDangling,
     [](Plan& p) {
       p.ops.back().deps = {0, 1};
     }},
    {"ownerless_reference", Rule::kDangling, [](Plan& p) { p.dep_refs.push_back(0); }},
    {"reference_outside", Rule::kDangling, [](Plan& p) { p.dep_refs[0] = kHuge; }},
    {"negative_work", Rule::kType, [](Plan& p) { op_of_kind(p, PostKind::kAttend).flops = -1; }},
    {"work_overflows", Rule::kType,
     [](Plan& p) {
       for (Op& op : p.ops) op.flops = std::numeric_limits<std::int64_t>::max() / 2;
     }},
    {"bytes_overflow", Rule::kType,
     [](Plan& p) {
       for (Message& m : p.messages) m.bytes = std::numeric_limits<std::int64_t>::max() / 2;
     }},
    {"endless_reads", Rule::kType,
     [](Plan& p) {
       const Box box = p.values[0].placement.at(0)[0];
       for (Value& v : p.values)
         v.placement = Placement::make(p.ranks, [&](int) { return BoxList(std::size_t{1} << 14, box); });
       for (Post& post : p.posts)
         if (post.kind == PostKind::kAttend) post.kind = PostKind::kMerge;
     }},
    {"own_dependency", Rule::kOrder, [](Plan& p) { p.dep_refs[0] = static_cast<OpId>(p.ops.size()) - 1; }},
    {"nobodys_message", Rule::kUnmatched,
     [](Plan& p) {
       Message m = p.messages.back();
       p.messages.push_back(m);
     }},
    {"lonely_exchange", Rule::kUnmatched, [](Plan& p) { op_of_kind(p, PostKind::kExchange).rank ^= 1; }},
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class PlanForm : public ::testing::TestWithParam<Damage> {};

TEST_P(PlanForm, DamageIsFoundWithoutARequest) {
  Plan plan = ring_plan();
  ASSERT_TRUE(check_form(plan).empty());
  GetParam().apply(plan);
  const std::vector<PlanProblem> problems = check_form(plan);
  std::string found;
  for (const PlanProblem& problem : problems)
    found += std::string(rule_name(problem.rule)) + ": " + problem.text + "\n";
  EXPECT_TRUE(std::ranges::find(problems, GetParam().rule, &PlanProblem::rule) != problems.end()) << found;
}

INSTANTIATE_TEST_SUITE_P(ByName, PlanForm, ::testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace spscope::testing
