// What ranks need, against sums by hand and against closed forms of the model's shapes.
#include "backend/schedule/memory_need.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/config/model_size.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/staging.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::dense_mask, testing::plan_of, testing::usp_plan;

Model preset(const char* name) { return *find_model_preset(name); }

// 8 heads x 16 tokens a rank x 4 channels x 2 bytes: a rank holds 1024 N bytes of q where it has all tokens of its
// heads. Of k and v together it sends all but its own heads' part, packed, and receives rows in their place; o is sent
// as it lies and unpacked. k and v are the largest transfer; q and o are half of it, on the same lane or before it.
TEST(Staging, OfUlyssesIsWhatKeysAndValuesSend) {
  for (const int ranks : {2, 4, 8}) {
    const Request request = Request::attention(ranks, 8, 4, dense_mask(8, ranks, 16));
    const std::int64_t of_tensor = 8 * 16 * 4 * 2;  // of one rank's tokens
    const std::vector<std::int64_t> staging = staging_bytes(usp_plan(request, ranks));
    for (const std::int64_t bytes : staging) EXPECT_EQ(bytes, 2 * of_tensor * (ranks - 1) / ranks) << ranks;
  }
}

// A hop sends the whole buffer, and the next rank receives a whole buffer.
TEST(Staging, OfARingIsNothing) {
  for (const int ranks : {2, 4, 8}) {
    const Request request = Request::attention(ranks, 8, 4, dense_mask(8, ranks, 16));
    EXPECT_EQ(staging_bytes(plan_of(request, "ring")), std::vector<std::int64_t>(static_cast<std::size_t>(ranks), 0));
  }
}

TEST(MemoryNeed, IsTheSumOfItsParts) {
  const Request request = Request::attention(4, 8, 4, dense_mask(8, 4, 16));
  const Plan plan = usp_plan(request, 4);
  const Model model = preset("wan-mini");
  const MemoryNeed need = memory_need(plan, model, WeightLayout::kReplicated, {.memory_gib = 1, .reserved_gib = 0.25});
  ASSERT_EQ(need.ranks.size(), 4U);
  const std::vector<std::int64_t> bound = memory_bound(plan), staging = staging_bytes(plan);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(need.ranks[r].activations, bound[r]);
    EXPECT_EQ(need.ranks[r].staging, staging[r]);
    EXPECT_EQ(need.ranks[r].weights, 2 * model_size(model).total());
    EXPECT_EQ(need.ranks[r].reserved, 1 << 28);
    EXPECT_EQ(need.ranks[r].total(), bound[r] + staging[r] + 2 * model_size(model).total() + (1 << 28));
  }
  EXPECT_EQ(need.limit, 1 << 30);
  EXPECT_TRUE(need.fits());
}

TEST(MemoryNeed, WithoutALimitReservesNothingAndFits) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  const MemoryNeed need =
      memory_need(plan_of(request, "ring"), preset("wan-mini"), WeightLayout::kReplicated, {.reserved_gib = 2});
  EXPECT_EQ(need.ranks[0].reserved, 0);
  EXPECT_TRUE(need.fits());
}

// Exactly full fits; a byte more does not, and the sentence shows as many digits as tell the two apart.
TEST(MemoryNeed, EndsAtTheLastByte) {
  const std::int64_t gib = std::int64_t{1} << 30;
  MemoryNeed need{{{gib / 2, gib / 4, 0, gib / 4}, {1, 1, 1, 1}}, gib};
  EXPECT_EQ(need.fullest(), 0);
  EXPECT_TRUE(need.fits());
  need.ranks[1] = {gib, 1, 0, 0};
  EXPECT_EQ(need.fullest(), 1);
  EXPECT_FALSE(need.fits());
  EXPECT_EQ(memory_sentence(need).substr(0, 18), "needs 1.000000001 ");
}

TEST(MemoryNeed, SentenceNamesTheFullestRankAndItsParts) {
  const auto gib = [](double x) { return static_cast<std::int64_t>(x * 1024 * 1024 * 1024); };
  const RankMemory small{gib(1), gib(28.6), 0, 0};
  const MemoryNeed need{{small, small, small, {gib(58.1), gib(28.6), gib(5.4), 0}}, gib(80)};
  EXPECT_EQ(memory_sentence(need), "needs 92.1 of 80 GiB, at rank 3: 58.1 activations, 28.6 weights, 5.4 staging");
}

TEST(MemoryNeed, ShardedWeightsAreAPartAndTwoLayers) {
  const Model model = preset("wan2.1-t2v-14b");
  const ModelSize size = model_size(model);
  const Request request = Request::attention(8, 8, 4, dense_mask(8, 8, 16));
  const Plan plan = usp_plan(request, 8);
  for (const std::int64_t bytes : weight_bytes_by_rank(plan, model, WeightLayout::kSharded))
    EXPECT_EQ(bytes, 2 * ((size.total() + 7) / 8 + 2 * size.largest_layer));
}

// Published parameters of the checkpoints; matrices are all but a thousandth of them.
TEST(ModelSizeOfShapes, MeetsPublishedCheckpoints) {
  const std::pair<const char*, double> published[] = {{"wan2.1-t2v-1.3b", 1.4190e9}, {"wan2.1-t2v-14b", 14.2885e9},
                                                      {"hunyuanvideo", 12.8210e9},   {"cogvideox-5b", 5.5703e9},
                                                      {"flux.1-dev", 11.9014e9},     {"latte-xl", 673.7e6}};
  for (const auto& [name, parameters] : published) {
    const double matrices = static_cast<double>(model_size(preset(name)).total());
    EXPECT_LT(matrices, parameters) << name;
    EXPECT_GT(matrices, parameters * 0.999) << name;
  }
}

TEST(ModelSizeOfShapes, KnowsEveryPresetAndItsLargestLayer) {
  for (const Model& model : model_presets()) {
    const ModelSize size = model_size(model);
    const std::int64_t layers = size.attention + size.ffn + size.modulation;
    EXPECT_GT(size.outside, 0) << model.name;
    EXPECT_GE(size.largest_layer * model.layers, layers) << model.name;
    EXPECT_LE(size.largest_layer, layers) << model.name;
  }
}

}  // namespace
}  // namespace spscope
