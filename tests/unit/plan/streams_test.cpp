// Features of the builder and the verifier for complete layers: streams of tokens with separate weights, and
// token-local kernels that cost more than one FLOP an element.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/plan/terms.h"
#include "backend/plan/verify.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

bool has_rule(const Plan& plan, const Request& request, Rule rule) {
  const std::vector<PlanProblem> problems = verify(plan, request);
  return std::ranges::find(problems, rule, &PlanProblem::rule) != problems.end();
}

// -- streams

const LayerShape kBlock{.ranks = 2, .text = 5};

Placement rows(PlanBuilder& b, Axis axis = Axis::kHidden) {
  const Request& request = b.request();
  const auto tokens = cut_blocks(request, AttendedAxis::kInner, request.ranks, TokenOrder::kContiguous);
  return b.place([&](int rank) {
    return BoxList{{request.all_columns(axis), request.all_outer(), tokens[static_cast<std::size_t>(rank)]}};
  });
}

Placement only(PlanBuilder& b, ValueId value, SetId tokens) {
  const Placement whole = b.placement_of(value);
  return b.place([&](int rank) {
    BoxList boxes(whole.at(rank).begin(), whole.at(rank).end());
    for (Box& box : boxes) box.inner = b.sets().both(box.inner, tokens);
    return boxes;
  });
}

TEST(Streams, SwappedWeightsAreFoundWhereverTheyAre) {
  const Request request = layer_request(kBlock, LayerKind::kDoubleBlock);
  const Plan right = build(plan_double_block_ring, request);
  ASSERT_TRUE(verify(right, request).empty());
  for (const char* weight : {"wq", "wkv", "wo"}) {
    Plan plan = right;
    const auto post_of = [&](const std::string& name) {
      return std::ranges::find_if(plan.posts, [&](const Post& post) {
        return post.kernel != kNone && plan.kernels[static_cast<std::size_t>(post.kernel)].name == name;
      });
    };
    std::swap(post_of(weight + std::string("_video"))->kernel, post_of(weight + std::string("_text"))->kernel);
    EXPECT_TRUE(has_rule(plan, request, Rule::kTerm)) << weight;
  }
}

// Keys of a ring that meets the streams one after the other, with the wrong weight for each.
TEST(Streams, SwappedKeysThatAreMetApartAreFound) {
  const Request request =
      layer_request({.ranks = 3, .text = 5, .text_layout = TextLayout::kReplicate}, LayerKind::kDoubleBlock);
  Plan plan = build(plan_double_block_text_replicated, request);
  ASSERT_TRUE(verify(plan, request).empty());
  for (Kernel& kernel : plan.kernels)
    if (kernel.name.starts_with("wkv"))
      kernel = *std::ranges::find(request.kernels, kernel.name == "wkv_text" ? "wkv_video" : "wkv_text", &Kernel::name);
  EXPECT_TRUE(has_rule(plan, request, Rule::kTerm));
}

TEST(Streams, OneWeightForAllTokensIsFound) {
  const Request request = layer_request(kBlock, LayerKind::kDoubleBlock);
  const Plan plan = build(
      [](PlanBuilder& b, const Request&) {
        const ValueId x = b.input(kHiddenState, rows(b), Axis::kHidden);
        const ValueId q = b.linear(x, "wq_video"), kv = per_stream(b, x, "wkv");
        const ValueId o = ring_attention(b, q, kv, b.everyone(), AttendedAxis::kInner, 1);
        b.output(b.local("residual", std::vector{x, per_stream(b, o, "wo")}), rows(b));
      },
      request);
  EXPECT_TRUE(has_rule(plan, request, Rule::kTerm));
}

// Two weights over the same tokens, at different ranks: no rank holds a part twice, and yet it is not one tensor.
TEST(Streams, DifferentThingsOfTheSameTokensClash) {
  const Request request = layer_request(kBlock, LayerKind::kDoubleBlock);
  const Plan plan = build(
      [](PlanBuilder& b, const Request& r) {
        const Placement everywhere = b.place([&](int) { return BoxList{r.whole(Axis::kHidden)}; });
        const ValueId x = b.input(kHiddenState, everywhere, Axis::kHidden);
        const auto at_rank = [&](int wanted) {
          return b.narrow(
              x, b.place([&](int rank) { return rank == wanted ? BoxList{r.whole(Axis::kHidden)} : BoxList{}; }));
        };
        b.view(std::vector{b.linear(at_rank(0), "wq_video"), b.linear(at_rank(1), "wq_text")});
      },
      request);
  EXPECT_EQ(Terms(plan).clashes().size(), 1u);
}

TEST(Streams, NarrowingToOneStreamGivesItAlsoAfterAMove) {
  const Request request = layer_request(kBlock, LayerKind::kDoubleBlock);
  PlanBuilder b(request);
  const ValueId x = b.input(kHiddenState, rows(b), Axis::kHidden);
  const ValueId video = b.linear(b.narrow(x, only(b, x, request.video())), "wq_video");
  const ValueId text = b.linear(b.narrow(x, only(b, x, request.words())), "wq_text");
  const ValueId joined = b.view(std::vector{video, text}), turned = b.local("rope", {&joined, 1});
  const ValueId moved = b.wait(b.shift(joined, b.everyone()));
  const ValueId turned_video = b.local("rope", {&video, 1});
  const ValueId words = b.narrow(moved, only(b, moved, request.words()));
  const ValueId some = b.narrow(joined, only(b, joined, b.sets().minus(request.all_inner(), b.sets().span(0, 8))));
  const ValueId back = b.narrow(turned, only(b, turned, request.video()));
  const Plan plan = b.take();
  const Terms terms(plan);
  EXPECT_EQ(terms.of(words), terms.of(text));
  EXPECT_EQ(terms.of(moved), terms.of(joined));
  EXPECT_EQ(terms.of(some), terms.of(joined));
  EXPECT_EQ(terms.of(back), terms.of(turned_video));
  EXPECT_NE(terms.of(joined), terms.of(video));
  EXPECT_NE(terms.of(joined), terms.of(text));
  EXPECT_TRUE(terms.clashes().empty());
}

TEST(TokenRegion, HasOneFormWhateverItWasMadeOf) {
  SetTable sets;
  const auto box = [&](int o0, int o1, int i0, int i1) {
    return Box{sets.span(0, 1), sets.span(o0, o1), sets.span(i0, i1)};
  };
  const auto hash = [&](std::vector<Box> boxes) { return TokenRegion(sets, boxes).mix_into(0, sets); };
  EXPECT_EQ(hash({box(0, 4, 0, 6)}), hash({box(0, 2, 0, 6), box(2, 4, 0, 3), box(1, 4, 2, 6)}));
  EXPECT_EQ(hash({box(0, 4, 0, 6)}), hash({box(0, 4, 3, 6), box(0, 4, 0, 3)}));
  EXPECT_NE(hash({box(0, 4, 0, 6)}), hash({box(0, 2, 0, 6), box(2, 4, 0, 5)}));
  TokenRegion left(sets, std::vector{box(0, 4, 0, 3)}), right(sets, std::vector{box(0, 4, 3, 6)});
  EXPECT_TRUE(left.both(sets, right).empty());
  left.unite(sets, right);
  EXPECT_EQ(left.mix_into(0, sets), hash({box(0, 4, 0, 6)}));
}

// -- kernels

Op first_op(const Plan& plan, std::string_view kernel) {
  return *std::ranges::find_if(plan.ops, [&](const Op& op) {
    const KernelId id = plan.post_of(op).kernel;
    return id != kNone && plan.kernels[static_cast<std::size_t>(id)].name == kernel;
  });
}

// 48 FLOPs a cell of 5 heads x its tokens, and 1,000 for each head that the rank holds, for each of 2 samples.
TEST(CostOfStreams, OfACrossAttentionIsItsCellsAndItsColumns) {
  const Request request = layer_request({.ranks = 3, .inner = 66, .batch = 2}, LayerKind::kCrossAttention);
  EXPECT_EQ(first_op(build(plan_cross_attention, request), kCrossAttention).flops, 2 * (48 * 5 * 22 + 1000 * 5));
}

TEST(CostOfStreams, IsTheRequestsNotThePlans) {
  const Request request = layer_request({.ranks = 3}, LayerKind::kCrossAttention);
  const Plan right = build(plan_cross_attention, request);
  const auto kernel_of = [](Plan& plan) -> Kernel& {
    return *std::ranges::find(plan.kernels, kCrossAttention, &Kernel::name);
  };
  Plan plan = right;
  kernel_of(plan).flops_per_cell = 1;
  EXPECT_TRUE(has_rule(plan, request, Rule::kType));
  plan = right;
  kernel_of(plan).flops_per_column = 0;
  EXPECT_TRUE(has_rule(plan, request, Rule::kType));
  plan = right;
  for (Op& op : plan.ops) op.flops -= plan.kind_of(op) == PostKind::kLocal;
  EXPECT_TRUE(has_rule(plan, request, Rule::kType));
}

TEST(WholeRows, AreNotCutAlongColumns) {
  Request request = layer_request({.ranks = 2}, LayerKind::kCrossAttention);
  request.kernels.push_back({"norm", false, Axis::kHeads, Axis::kHeads, {}, 0, 0, true});
  const auto normed = [&](const std::vector<SetId>& heads) {
    return build(
        [&](PlanBuilder& b, const Request& r) {
          const ValueId x =
              b.input(kHiddenState, b.place([&](int) { return BoxList{r.whole(Axis::kHidden)}; }), Axis::kHidden);
          const ValueId q = b.linear(x, "wq", heads);
          b.local("norm", {&q, 1});
        },
        request);
  };
  EXPECT_FALSE(has_rule(normed({}), request, Rule::kType));
  EXPECT_TRUE(has_rule(normed(request.sets->even(request.all_heads(), 2)), request, Rule::kType));
}

}  // namespace
}  // namespace spscope::testing
