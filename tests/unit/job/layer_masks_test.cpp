// Masks from files: their borders, plans on them, and what plans promise of masks they do not know yet.
#include "backend/job/layer_masks.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/job/job_layers.h"
#include "backend/job/planned_layer.h"
#include "backend/mask/array_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/mask/array_files.h"

namespace spscope {
namespace {

// uint8 [shape], written without borders.
std::string mask_file(const TemporaryFolder& folder, std::vector<std::int64_t> shape,
                      const std::vector<std::uint8_t>& bits) {
  const std::string path = folder / "mask.npy";
  write_npy(path, ElementType::kU8, shape, std::as_bytes(std::span(bits)));
  return path;
}

// Two heads over 5 x 5 blocks in which each query attends to itself and the past.
std::string causal_file(const TemporaryFolder& folder) {
  std::vector<std::uint8_t> bits;
  for (int head = 0; head < 2; ++head)
    for (int q = 0; q < 5; ++q)
      for (int k = 0; k < 5; ++k) bits.push_back(k <= q);
  return mask_file(folder, {2, 5, 5}, bits);
}

Job job_of(const std::string& mask, std::vector<std::string> settings, std::vector<std::string> strategies = {}) {
  JobFlags flags;
  flags.strategies = std::move(strategies);
  flags.settings = std::move(settings);
  flags.settings.insert(flags.settings.end(), {"mask.file=" + mask, "model.heads=2", "model.head_dim=8"});
  return load_job(flags);
}

// 230 video tokens and 60 of text, which stands first in one model and last in the other.
const std::vector<std::string> kJoint[] = {
    {"model.preset=cogvideox1.5-5b", "model.grid=[1,10,23]", "model.text_tokens=60"},
    {"model.preset=hunyuanvideo", "model.grid=[1,10,23]", "model.text_tokens=60"}};

std::vector<std::int32_t> borders(const Job& job) {
  const ActivationSource activations(job);
  const BlockMask mask = MaskSource(job, activations).at(0, 0).inner.mask;
  const std::span<const std::int32_t> starts = mask.block_starts();
  return {starts.begin(), starts.end()};
}

// Its blocks are of one size over text and video, and are cut at the border of text that is replicated.
TEST(FileMask, HasItsBordersAndThoseOfReplicatedText) {
  const TemporaryFolder folder;
  const std::string path = causal_file(folder);
  const std::vector<std::int32_t> uniform = {0, 64, 128, 192, 256, 290};
  const std::vector<std::int32_t> cut[] = {{0, 60, 64, 128, 192, 256, 290}, {0, 64, 128, 192, 230, 256, 290}};
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::string> settings = kJoint[i];
    EXPECT_EQ(borders(job_of(path, settings)), uniform) << settings.front();
    settings.push_back("run.text=replicate");
    EXPECT_EQ(borders(job_of(path, settings)), cut[i]) << settings.front();
  }
}

// Lists are timed with the kernel that takes them, where the GPU has it and the config names no other one.
TEST(FileMask, ChoosesTheKernelWhoseListsItHolds) {
  const TemporaryFolder folder;
  const auto kernel_of = [&](const std::string& entries, const char* cluster, const char* setting = "run.layers=1") {
    const std::string header = "{\"" + entries + R"(": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}})";
    const std::string path = folder.write("lists.safetensors", testing_files::safetensors(header, "abcd"));
    return job_of(path, {std::string("cluster.preset=") + cluster, setting}).cluster.preset.attention_kernel;
  };
  EXPECT_EQ(kernel_of("kv_indices", "h100x8"), "flex");
  EXPECT_EQ(kernel_of("kv_indices", "h100x8", "run.attention_kernel=fa2"), "fa2");
  EXPECT_EQ(kernel_of("lut", "h100x8"), "sparge");
  EXPECT_EQ(kernel_of("lut", "h100x8", "mask.as=bits"), "vsa");
  for (const char* usual : {"indices", "mask_block_idx", "lut"})  // a b200 has no times of sparge
    EXPECT_EQ(kernel_of(usual, "b200x8"), "vsa") << usual;
}

// At the second step the known mask is full and the executed one leaves the second head empty.
TEST(PlannedImbalance, CountsTheKnownMaskAlsoWhereTheExecutedOneIsEmpty) {
  const TemporaryFolder folder;
  const std::string path = mask_file(folder, {2, 1, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  const Job job = job_of(path,
                         {"model.grid=[1,1,32]", "mask.block=16", "cluster.ranks=2", "run.denoise_steps=2",
                          "run.mask_lag=1", "run.mode=simulate", "run.layers=1"},
                         {"ulysses"});
  const ActivationSource activations(job);
  const MaskSource source(job, activations);
  std::vector<PlannedLayer> layers;
  for_each_layer(job, source, [&](const LayerOfJob& where) {
    layers.push_back(plan_layer(job.strategies[0], where.request, where.decisions[0]));
    return true;
  });
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_FALSE(layers[0].figures.planned_imbalance_ratio);
  EXPECT_EQ(layers[1].figures.planned_imbalance_ratio, 1.0);
  EXPECT_EQ(layers[1].figures.imbalance_ratio, 2.0);
}

}  // namespace
}  // namespace spscope
