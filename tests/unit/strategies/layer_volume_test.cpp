// Sent bytes of whole layers against published numbers, planned at full size. tests/oracle holds those of every
// strategy against their closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "backend/config/model.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/verify.h"
#include "backend/strategies/strategy.h"
#include "tests/support/editable_plan.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

std::shared_ptr<MaskCounter> dense(const Request& request, std::int32_t tokens, std::int32_t block) {
  return std::make_shared<MaskCounter>(
      request.sets,
      testing::mask_where(request.heads, BlockMask::uniform_starts(tokens, block), [](int, int, int) { return true; }));
}

// A preset's layer; the temporal axis in blocks of a frame, as the program cuts it.
Request layer_of(const Model& model, LayerBlock block, int ranks) {
  Request request;
  request.ranks = ranks;
  request.heads = model.heads;
  request.head_dim = model.head_dim;
  request.hidden = model.hidden;
  request.ffn = model.ffn;
  request.outer_tokens = static_cast<std::int32_t>(model.outer());
  request.inner_tokens = static_cast<std::int32_t>(model.inner());
  request.text_tokens = model.joint_text_tokens;
  request.block = block;
  request.context_tokens = model.cross_text_tokens;
  request.mlps = model.mlp_per_layer;
  request.grid = model.grid;
  request.sets = std::make_shared<SetTable>();
  request.executed_masks[1] = dense(request, request.inner_tokens, 256);
  if (model.spatiotemporal()) request.executed_masks[0] = dense(request, request.outer_tokens, 1);
  request.kernels = layer_kernels(request);
  define_outputs(request);
  return request;
}

std::vector<Problem> legal(const Request& request, const char* name) {
  const Strategy& strategy = *find_strategy(name);
  return strategy.legal(request, Parameters(strategy.parameters()));
}

// Sent by all ranks, norm statistics apart.
struct SentOfLayer {
  std::int64_t data = 0, norm = 0;
};

SentOfLayer sent_by(const Request& request, const char* name) {
  const Strategy& strategy = *find_strategy(name);
  const Plan plan = make_plan(strategy, request, Parameters(strategy.parameters()));
  for (const PlanProblem& p : verify(plan, request)) ADD_FAILURE() << name << ": " << p.text;
  EXPECT_EQ(bytes_sent(plan).size(), bytes_received(plan).size());
  std::vector<bool> of_norm(plan.messages.size());
  for (const Op& op : plan.ops)
    for (const MessageId id : plan.messages_of(op)) {
      const Value& value = plan.values[static_cast<std::size_t>(plan.post_of(op).src)];
      of_norm[static_cast<std::size_t>(id)] = value.tensors.has(Tensor::kNorm);
    }
  SentOfLayer sent;
  for (std::size_t id = 0; id < plan.messages.size(); ++id)
    (of_norm[id] ? sent.norm : sent.data) += plan.messages[id].bytes;
  return sent;
}

// Bytes sent by each rank at the settings of the DSP paper (arXiv 2403.10266), bf16: its volumes with the factor
// (N - 1) / N that it omits. nullopt: more ranks than heads. Megatron-LM and Megatron-SP have one column.
struct PublishedLayer {
  const char* model;
  int frames, ranks;
  std::int64_t dsp;
  std::optional<std::int64_t> ulysses;
  std::int64_t ring;
  std::int64_t megatron;
};
constexpr PublishedLayer kPublishedLayers[] = {
    {"dsp-720m", 64, 2, 301'989'888, 603'979'776, 603'979'776, 2'415'919'104},
    {"dsp-720m", 64, 4, 226'492'416, 452'984'832, 905'969'664, 3'623'878'656},
    {"dsp-720m", 64, 8, 132'120'576, 264'241'152, 1'056'964'608, 4'227'858'432},
    {"dsp-720m", 256, 16, 283'115'520, 566'231'040, 4'529'848'320, 18'119'393'280},
    {"dsp-720m", 256, 32, 146'276'352, std::nullopt, 4'680'843'264, 18'723'373'056},
    {"dsp-3b", 16, 8, 58'720'256, 117'440'512, 469'762'048, 1'879'048'192},
    {"dsp-3b", 128, 32, 130'023'424, 260'046'848, 4'160'749'568, 16'642'998'272},
    {"dsp-3b", 128, 64, 66'060'288, std::nullopt, 4'227'858'432, 16'911'433'728},
};

Model model_with_frames(const char* name, int frames) {
  Model model = *find_model_preset(name);
  model.grid[0] = frames;
  return model;
}

TEST(PublishedLayerVolumes, AreTheSumOverRanks) {
  for (const PublishedLayer& row : kPublishedLayers) {
    SCOPED_TRACE(std::string(row.model) + " on " + std::to_string(row.ranks));
    const Model model = model_with_frames(row.model, row.frames);
    ASSERT_EQ(model.mlp_per_layer, 2);
    ASSERT_FALSE(model.cross_attention());
    const Request request = layer_of(model, LayerBlock::kSpatialTemporal, row.ranks);
    const auto expect = [&](const char* name, std::int64_t per_rank) {
      const SentOfLayer sent = sent_by(request, name);
      EXPECT_EQ(sent.data, row.ranks * per_rank) << name;
      EXPECT_EQ(sent.norm, 0) << name << ": heads are normed one by one";
    };
    expect("dsp", row.dsp);
    expect("ring", row.ring);
    expect("megatron_tp", row.megatron);
    EXPECT_EQ(legal(request, "ulysses").empty(), row.ulysses.has_value());
    EXPECT_EQ(legal(request, "megatron_sp").empty(), row.ulysses.has_value());
    if (!row.ulysses) continue;
    expect("ulysses", *row.ulysses);
    expect("megatron_sp", row.megatron);
  }
}

// One gather and one scatter: shares of the attention and of the feed-forward network are added first.
TEST(SingleStreamLayers, SendOneSumUnderTheMegatrons) {
  const Request request = layer_of(*find_model_preset("flux.1-dev"), LayerBlock::kSingleStream, 4);
  const std::int64_t state = std::int64_t{request.inner_tokens} * request.hidden * 2;
  for (const char* name : {"megatron_sp", "megatron_tp"}) EXPECT_EQ(sent_by(request, name).data, 2 * 3 * state) << name;

  const Strategy& strategy = *find_strategy("megatron_tp");
  const testing::EditablePlan good(make_plan(strategy, request, Parameters(strategy.parameters())));
  const auto added = std::ranges::find_if(good.posts, [&](const testing::EditablePost& post) {
    return post.fields.kind == PostKind::kLocal && post.operands.size() == 1 &&
           !good.values[static_cast<std::size_t>(post.fields.src)].pending.empty();
  });
  ASSERT_NE(added, good.posts.end());
  const auto at = static_cast<std::size_t>(added - good.posts.begin());
  const auto rules = [&](const testing::EditablePlan& plan) {
    std::set<std::string> names;
    for (const PlanProblem& problem : verify(plan.flatten(), request)) names.insert(rule_name(problem.rule));
    return names;
  };
  EXPECT_TRUE(rules(good).empty());
  testing::EditablePlan twice = good;  // one of the two sums twice, the other left out
  twice.posts[at].operands = {twice.posts[at].fields.src};
  EXPECT_TRUE(rules(twice).contains("term"));
  testing::EditablePlan whole = good;  // what is a share is said to be the sum
  whole.values[static_cast<std::size_t>(whole.posts[at].fields.dst)].pending.clear();
  EXPECT_TRUE(rules(whole).contains("type"));
  testing::EditablePlan others = good;  // shares that are pending in other groups
  others.groups.push_back({0, 1});
  others.values[static_cast<std::size_t>(others.posts[at].operands.front())].pending = {
      static_cast<GroupId>(others.groups.size()) - 1};
  EXPECT_FALSE(rules(others).empty());
}

TEST(LayerLegality, NamesWhatIsMissing) {
  const auto reason = [](const Request& request, const char* name) {
    const std::vector<Problem> problems = legal(request, name);
    return problems.empty() ? std::string() : problems[0].message + "; " + problems[0].hint;
  };
  const Model &wan = *find_model_preset("wan-mini"), &factorised = *find_model_preset("st-mini");
  EXPECT_EQ(reason(layer_of(wan, LayerBlock::kWan, 4), "dsp"),
            "needs separate spatial and temporal attention; use a spatiotemporal model (st-mini, dsp-720m, "
            "open-sora-1.2), or ulysses, ring or usp");
  EXPECT_EQ(
      reason(layer_of(factorised, LayerBlock::kAttention, 4), "dsp"),
      "needs run.scope = \"layer\", since it moves the hidden state between two blocks; set run.scope = \"layer\"");
  EXPECT_EQ(reason(layer_of(factorised, LayerBlock::kSpatialTemporal, 4), "dsp"), "");
  EXPECT_EQ(reason(layer_of(wan, LayerBlock::kAttention, 4), "megatron_tp"),
            "needs run.scope = \"layer\", since it cuts the weights around attention; set run.scope = \"layer\"");
  EXPECT_EQ(reason(layer_of(wan, LayerBlock::kWan, 7), "megatron_sp"),
            "7 ranks cut weights over 6 heads; use at most 6 ranks, or a strategy that cuts tokens (ring, usp)");
}

}  // namespace
}  // namespace spscope
