// Model presets against published shapes, and how a config's own numbers replace a preset's.
#include "backend/config/model.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace spscope {
namespace {

Model resolved(const ModelConfig& config) {
  std::vector<Problem> problems;
  Model model = resolve_model(config, problems);
  EXPECT_TRUE(problems.empty()) << render(Error(problems));
  return model;
}

std::vector<Problem> model_problems(const ModelConfig& config) {
  std::vector<Problem> problems;
  resolve_model(config, problems);
  return problems;
}

TEST(ModelPresets, EveryPresetResolvesToConsistentSizes) {
  std::set<std::string> names;
  for (const Model& preset : model_presets()) {
    SCOPED_TRACE(preset.name);
    ModelConfig config;
    config.preset = preset.name;
    const Model model = resolved(config);
    EXPECT_EQ(model.hidden, model.heads * model.head_dim);
    EXPECT_GT(model.ffn, model.hidden);
    EXPECT_LE(model.single_layers, model.layers);
    EXPECT_EQ(model.outer() * model.inner(), model.tokens());
    EXPECT_GT(model.denoise_steps, 0);
    EXPECT_FALSE(model.source.empty());
    EXPECT_EQ(model.mlp_per_layer, model.spatiotemporal() ? 2 : 1);
    EXPECT_TRUE(names.insert(preset.name).second);
  }
}

// Two passes in a batch are one forward pass on twice the samples, of which there is still one.
TEST(ModelPresets, PassesOfGuidanceInABatchAreNoSamples) {
  ModelConfig config;
  config.passes_in_batch = 2;
  const Model model = resolved(config);
  EXPECT_EQ(find_model_preset(config.preset)->cfg, 2);
  EXPECT_EQ(model.cfg, 1);
  EXPECT_EQ(model.batch, 2);
  EXPECT_EQ(model.samples(), 1);
  config.cfg = 3;
  ASSERT_EQ(model_problems(config).size(), 1u);
  EXPECT_EQ(model_problems(config).front().field, "model.passes_in_batch");
}

// Video tokens as published for each resolution (Wan and CogVideoX configs, HunyuanVideo at 720p, 3072 x 3072 Flux).
TEST(ModelPresets, VideoTokensEqualThePublishedCounts) {
  const std::map<std::string, std::int64_t> published = {
      {"wan2.1-t2v-1.3b", 32760}, {"wan2.1-t2v-14b", 75600}, {"hunyuanvideo", 118800}, {"cogvideox-5b", 17550},
      {"cogvideox1.5-5b", 85680}, {"flux.1-dev", 36864},     {"latte-xl", 4096}};
  for (const auto& [name, tokens] : published) EXPECT_EQ(find_model_preset(name)->video_tokens(), tokens) << name;
  EXPECT_EQ(find_model_preset("cogvideox-5b")->tokens(), 17776);
  EXPECT_EQ(find_model_preset("wan2.1-t2v-14b")->tokens(), 75600) << "Wan's text is in cross-attention only";
  EXPECT_TRUE(find_model_preset("wan2.1-t2v-14b")->cross_attention());
  EXPECT_EQ(find_model_preset("dsp-3b")->inner(), 4096);
  EXPECT_EQ(find_model_preset("dsp-3b")->outer(), 16);
  EXPECT_EQ(find_model_preset("open-sora-1.2")->inner(), 3600);
  EXPECT_FALSE(find_model_preset("dsp-720m")->cross_attention());
}

// (8 C^2 + 2 C F) parameters a block: 14.05e9 and 1.39e9 are what gives the Wan models their names.
TEST(ModelPresets, WanBlocksHaveTheParametersOfTheirName) {
  const auto billions = [](std::string_view name) {
    const Model& m = *find_model_preset(name);
    return 1e-9 * m.layers * (8.0 * m.hidden * m.hidden + 2.0 * m.hidden * m.ffn);
  };
  EXPECT_NEAR(billions("wan2.1-t2v-14b"), 14.05, 0.01);
  EXPECT_NEAR(billions("wan2.1-t2v-1.3b"), 1.39, 0.01);
}

TEST(ModelPresets, MiniKeepsTheAwkwardRemaindersOfWan) {
  const Model& mini = *find_model_preset("wan-mini");
  const Model& wan = *find_model_preset("wan2.1-t2v-14b");
  EXPECT_EQ(mini.tokens() % 64, wan.tokens() % 64);
  EXPECT_NE(mini.heads % 4, 0);
}

TEST(ResolveModel, WidthFollowsFromTheKeysThatAreGiven) {
  EXPECT_EQ(resolved({.heads = 3}).hidden, 96);
  EXPECT_EQ(resolved({.head_dim = 16}).hidden, 96);
  EXPECT_EQ(resolved({.hidden = 64}).heads, 2);
  EXPECT_EQ(resolved({.hidden = 64, .heads = 8}).head_dim, 8);
  EXPECT_EQ(resolved({.heads = 3}).ffn, 560);
  EXPECT_EQ(resolved({.heads = 3, .ffn = 100}).ffn, 100);
}

TEST(ResolveModel, HiddenThatIsNotHeadsTimesHeadDimIsRefused) {
  const auto problems = model_problems({.hidden = 100, .heads = 6, .head_dim = 32});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, ErrorCode::kConfigConflict);
  EXPECT_EQ(problems[0].field, "model.hidden");
  EXPECT_EQ(problems[0].message, "hidden = 100 is not heads x head_dim = 6 x 32");
  EXPECT_EQ(model_problems({.hidden = 4, .heads = 6}).size(), 1u);
  EXPECT_EQ(model_problems({.hidden = 4}).size(), 1u);
}

TEST(ResolveModel, TextTokensGoWhereTheModelTakesText) {
  EXPECT_EQ(resolved({.text_tokens = 7}).cross_text_tokens, 7);
  EXPECT_EQ(resolved({.preset = "cogvideox-5b", .text_tokens = 0}).tokens(), 17550);
  EXPECT_EQ(model_problems({.preset = "dsp-3b", .text_tokens = 5}).size(), 1u);
}

TEST(ResolveModel, LayersKeepTheShareOfSingleStreamOnes) {
  const Model flux = resolved({.preset = "flux.1-dev", .layers = 3});
  EXPECT_EQ(flux.layers, 3);
  EXPECT_EQ(flux.single_layers, 2);
}

TEST(ResolveModel, SizesThatOverflowAreRefused) {
  EXPECT_EQ(model_problems({.grid = {65536, 65536, 65536}}).size(), 1u);
  const auto flops = model_problems({.preset = "wan2.1-t2v-14b", .grid = {2, 32768, 32767}});
  ASSERT_EQ(flops.size(), 1u);
  EXPECT_NE(flops[0].message.find("2^62 FLOPs"), std::string::npos);
  EXPECT_EQ(model_problems({.grid = {1, 0, 4}}).size(), 1u);
  EXPECT_EQ(model_problems({.heads = 4096, .head_dim = 1024}).size(), 1u);
}

}  // namespace
}  // namespace spscope
