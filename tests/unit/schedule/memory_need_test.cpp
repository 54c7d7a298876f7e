// What ranks need, against sums by hand and against closed forms of the model's shapes.
#include "backend/schedule/memory_need.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <tuple>

#include "backend/base/rng.h"
#include "backend/config/model_size.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/staging.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::dense_mask, testing::plan_of, testing::usp_plan;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

Model preset(const char* name) { return *find_model_preset(name); }

ClusterPreset cluster_of(DeviceProfile device, std::string implementation = "") {
  ClusterPreset cluster;
  cluster.device = device;
  cluster.implementation = std::move(implementation);
  return cluster;
}

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
  const MemoryNeed need = memory_need(plan, model, {}, cluster_of({.memory_gib = 1, .reserved_gib = 0.25}));
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
      memory_need(plan_of(request, "ring"), preset("wan-mini"), {}, cluster_of({.reserved_gib = 2}));
  EXPECT_EQ(need.ranks[0].reserved, 0);
  EXPECT_TRUE(need.fits());
}

// Exactly full fits; a byte more does not, and the sentence shows as many digits as tell the two apart.
TEST(MemoryNeed, EndsAtTheLastByte) {
  MemoryNeed need{{{kGib / 2, kGib / 4, 0, kGib / 4}, {1, 1, 1, 1}}, kGib};
  EXPECT_EQ(need.fullest(), 0);
  EXPECT_TRUE(need.fits());
  need.ranks[1] = {kGib, 1, 0, 0};
  EXPECT_EQ(need.fullest(), 1);
  EXPECT_FALSE(need.fits());
  EXPECT_EQ(memory_sentence(need).substr(0, 18), "needs 1.000000001 ");
}

// Parts as they are printed add up to what they are printed to need, of 1,000 random needs.
TEST(MemoryNeed, PrintedPartsAddUp) {
  Rng rng(7);
  for (int i = 0; i < 1'000; ++i) {
    MemoryNeed need{{{}}, 80 * kGib};
    RankMemory& memory = need.ranks[0];
    for (std::int64_t* part : {&memory.activations, &memory.weights, &memory.staging, &memory.reserved})
      *part = rng.below(20 * kGib);
    const std::string text = memory_sentence(need);
    double sum = 0;
    std::istringstream parts(text.substr(text.find(": ") + 2));
    for (std::string part; std::getline(parts, part, ',');) sum += std::stod(part);
    ASSERT_NEAR(sum, std::stod(text.substr(6)), 0.01) << text;
    ASSERT_NEAR(sum, static_cast<double>(memory.total()) / static_cast<double>(kGib), 0.051) << text;
  }
}

// Engines shard over all GPUs of a replica: with two guidance passes at once of 8 ranks each, over 16.
TEST(MemoryNeed, ShardedWeightsAreAPartAndTwoLayers) {
  const Model model = preset("wan2.1-t2v-14b");
  const ModelSize size = model_size(model);
  const Request request = Request::attention(8, 8, 4, dense_mask(8, 8, 16));
  const Plan plan = usp_plan(request, 8);
  const auto bytes_with = [&](WeightDtype dtype, int plans = 1) {
    RunSection run;
    run.weights = WeightLayout::kSharded;
    run.weight_dtype = dtype;
    return weight_bytes_by_rank(plan, model, run, plans).front();
  };
  const std::int64_t share = (size.total() + 7) / 8, whole = 2 * size.largest_layer + size.outside;
  EXPECT_EQ(bytes_with(WeightDtype::kSame), 2 * (share + whole));
  EXPECT_EQ(bytes_with(WeightDtype::kSame, 2), 2 * ((size.total() + 15) / 16 + whole));
  // A master copy in fp32 is gathered in bf16, quantised weights as they are.
  EXPECT_EQ(bytes_with(WeightDtype::kFp32), 4 * share + 2 * whole);
  EXPECT_EQ(bytes_with(WeightDtype::kFp8), share + whole);
  EXPECT_EQ(bytes_with(WeightDtype::kInt4), (share + whole) / 2);
}

// The need of one rank on a card, with what is not counted beside it.
struct Card {
  const char* what;
  double gib, need, encoder, vae, decoding;
  const char* text;
};

// The VAE decodes when activations, here 4 GiB, are free; a margin below 5 % of the card is tight.
TEST(MemoryNeed, SaysWhatFitsAndWhatIsNotCounted) {
  const auto bytes = [](double gib) { return static_cast<std::int64_t>(gib * static_cast<double>(kGib)); };
  const Card cards[] = {
      {"all", 80, 31, 10.5, 0.5, 10,
       "fits together with the text encoder and VAE, with 32.0 GiB to spare. The text encoder takes about 10.5 GiB, "
       "and the VAE up to 10.5 GiB while it decodes, in place of the activations"},
      {"tight", 48, 31, 10.5, 0.5, 8,
       "fits together with the text encoder and VAE, with 2.0 GiB to spare, which is tight. "},
      {"VAE out", 48, 31, 10.5, 0.5, 24,
       "fits together with the text encoder, but only with the VAE elsewhere or decoding in tiles, with 6.5 GiB to "
       "spare. "},
      {"encoder out", 48, 38, 10.5, 0.5, 10,
       "fits together with the VAE, but only with the text encoder elsewhere, with 3.5 GiB to spare. "},
      {"both out", 32, 31.5, 10.5, 0.5, 24,
       "fits only with the text encoder and VAE elsewhere, with 0.5 GiB to spare, which is tight. "},
      {"neither", 24, 31, 0, 0, 0, "does not fit"},
      {"no companions", 40, 31, 0, 0, 0, "fits, with 9.0 GiB to spare"}};
  MemoryNeed unknown{{{0, kGib, 0, 0}}, 2 * kGib, {0, 0, 0, true, true}};
  EXPECT_EQ(verdict_text(unknown),
            "fits, with 1.0 GiB to spare. The sizes of the text encoder and VAE are not known here");
  for (const auto& [what, gib, total, encoder, vae, decoding, text] : cards) {
    const MemoryNeed need{
        {{4 * kGib, bytes(total) - 4 * kGib, 0, 0}}, bytes(gib), {bytes(encoder), bytes(vae), bytes(decoding)}};
    EXPECT_EQ(verdict_text(need).substr(0, std::string(text).size()), text) << what;
  }
}

// Wan2.1-14B on 4 GPUs: where the text encoder is, and what official code holds of a token.
TEST(MemoryNeed, CountsTheTextEncoderWhereItIsAndWhatOfficialCodeHolds) {
  const Model model = preset("wan2.1-t2v-14b");
  const Plan plan = usp_plan(Request::attention(4, 8, 4, dense_mask(8, 4, 16)), 4);
  const std::int64_t encoder = 5681LL * 1'000'000 * 2;
  const auto need_with = [&](TextEncoderPlace place, const char* implementation) {
    RunSection run;
    run.text_encoder = place;
    run.other_gib = 1.5;
    return memory_need(plan, model, run, cluster_of({}, implementation));
  };
  const std::tuple<TextEncoderPlace, std::int64_t, std::int64_t> places[] = {
      {TextEncoderPlace::kUnknown, 0, encoder},
      {TextEncoderPlace::kGpu, encoder, 0},
      {TextEncoderPlace::kCpu, 0, 0},
      {TextEncoderPlace::kSharded, encoder / 4, 0}};
  for (const auto& [place, counted, uncounted] : places) {
    const MemoryNeed need = need_with(place, "compiled");
    EXPECT_EQ(need.ranks[0].text_encoder, counted);
    EXPECT_EQ(need.uncounted.text_encoder, uncounted);
    EXPECT_EQ(need.ranks[0].other, 3 * kGib / 2);
    EXPECT_EQ(need.ranks[0].activations, memory_bound(plan)[0]);
  }
  EXPECT_EQ(need_with(TextEncoderPlace::kCpu, "official").ranks[0].activations, 38LL * 75'600 / 4 * 5120);
  const Model other = preset("hunyuanvideo");  // whose code holds more of a token
  EXPECT_EQ(memory_need(plan, other, {}, cluster_of({}, "official")).ranks[0].activations, 54LL * 119'056 / 4 * 3072);
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

// A picture as input has keys and values of its own in each of 40 layers, a projection of 1280 channels, and its mask.
TEST(ModelSizeOfShapes, CountsWhatAPictureAsInputAdds) {
  const std::int64_t h = 5120, added = model_size(preset("wan2.1-i2v-14b")).total() -
                                       model_size(preset("wan2.1-t2v-14b")).total();
  EXPECT_EQ(added, 40 * 2 * h * h + 1280 * (1280 + h) + (144 - 64) * h);
}

// Both experts of a model are held; one of them runs, so no more is gathered.
TEST(ModelSizeOfShapes, CountsEveryExpert) {
  const Plan plan = usp_plan(Request::attention(8, 8, 4, dense_mask(8, 8, 16)), 8);
  const std::int64_t one = weight_bytes_by_rank(plan, preset("wan2.1-t2v-14b"), {}).front();
  EXPECT_EQ(weight_bytes_by_rank(plan, preset("wan2.2-t2v-a14b"), {}).front(), 2 * one);
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
