#include "backend/analysis/mask_recipe.h"

#include <gmock/gmock.h>

#include "backend/job/layer_masks.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

// Writes masks as a run does and reads their records back.
std::vector<MaskRecord> stored(const std::vector<SourcedMask>& masks) {
  const TemporaryFolder folder;
  const std::string path = folder / "masks.db";
  std::vector<StoredMaskId> ids;
  {
    StoreWriter writer(path);
    for (const SourcedMask& mask : masks) ids.push_back(writer.add_mask(mask.mask, mask.recipe));
    writer.finish();
  }
  const StoreReader reader(path);
  std::vector<MaskRecord> records;
  for (const StoredMaskId id : ids) {
    EXPECT_FALSE(reader.mask_bits(id)) << "the file holds the bits";
    records.push_back(reader.mask_record(id));
  }
  return records;
}

Job job_with(std::vector<std::string> settings) {
  JobFlags flags;
  flags.settings = std::move(settings);
  flags.settings.insert(flags.settings.end(),
                        {"mask.seed=77", "mask.density=0.3", "cluster.ranks=2", "run.layers=2", "run.denoise_steps=3"});
  return load_job(flags);
}

TEST(MaskRecipe, ParametersAndBothAxesAreKept) {
  const Job job = job_with(
      {"model.preset=st-mini", "mask.pattern=window", "mask.temporal_pattern=sparge", "mask.sparge.dense_steps=1"});
  const ActivationSource activations(job);
  const MaskSource source(job, activations);
  const LayerMasks masks = source.at(2, 1);
  ASSERT_TRUE(masks.temporal);
  const std::vector<MaskRecord> records = stored({masks.inner, *masks.temporal});
  EXPECT_EQ(mask_of_recipe(records[0]).hash(), masks.inner.mask.hash());
  EXPECT_EQ(mask_of_recipe(records[1]).hash(), masks.temporal->mask.hash());
}

// A recipe comes from a file that anybody may have made.
TEST(MaskRecipe, OthersAreRefused) {
  const Job job = job_with({"mask.pattern=paro"});
  const ActivationSource activations(job);
  const MaskRecord record = stored({MaskSource(job, activations).at(0, 0).inner}).front();
  const auto with = [&](const std::string& old, const std::string& text) {
    MaskRecord changed = record;
    const std::size_t at = changed.recipe.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    changed.recipe.replace(at, old.size(), text);
    const Error error = error_of([&] { mask_of_recipe(changed); });
    EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt) << text;
    return std::string(error.what());
  };
  EXPECT_THAT(with("seed = 77", "seed = 78"), HasSubstr("the hash is"));
  EXPECT_THAT(with("seed = 77", "seed = \"x\""), HasSubstr("mask.seed has another type"));
  EXPECT_THAT(with("seed = 77", ""), HasSubstr("mask.seed is missing"));
  EXPECT_THAT(with("seed = 77", "seed = 77\nsprout = 1"), HasSubstr("mask.sprout is unknown"));
  EXPECT_THAT(with("\"paro\"", "\"parro\""), HasSubstr("no pattern \"parro\""));
  EXPECT_THAT(with("[mask]", "[mask"), HasSubstr("recipe"));
  EXPECT_THAT(with("grid = [", "grid = [-"), HasSubstr("mask.grid"));
  EXPECT_THAT(with("grid = [", "grid = [1000000, "), HasSubstr("mask.grid"));
  EXPECT_THAT(with("layer = 0", "layer = 9999"), HasSubstr("mask.layers"));
  EXPECT_THAT(with("text_tokens = 0", "text_tokens = 2147483647"), HasSubstr("mask 1"));
  EXPECT_THAT(with("heads = ", "heads = 1"), HasSubstr("heads"));
}

// Heads x blocks x blocks bits are bounded before any are made, also where the record agrees with the recipe.
TEST(MaskRecipe, OneOfTooManyBlocksIsRefused) {
  MaskRecord record;
  record.mask_id = StoredMaskId{1};
  record.heads = 2;
  PatternRequest request;
  request.heads = 2;
  request.block = 1;
  request.grid = {1'000, 1'000, 300};
  record.tokens = request.tokens();
  for (const Pattern& pattern : patterns()) {
    request.parameters = Parameters(pattern.parameters());
    record.recipe = recipe_of(pattern, request);
    const Error error = error_of([&] { mask_of_recipe(record); });
    EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt) << pattern.name;
    EXPECT_THAT(error.what(), HasSubstr("the limit is")) << pattern.name;
  }
}

}  // namespace
}  // namespace spscope
