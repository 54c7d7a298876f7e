#include "backend/fit/row_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "backend/base/letter_case.h"
#include "backend/config/cluster.h"
#include "backend/config/model.h"

namespace spscope {
namespace {

// Blocks of dense masks only split the work evenly, and large ones plan fast.
constexpr int kSmallBlock = 64, kLargeBlock = 256;
constexpr std::int64_t kManyTokens = 32768;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

std::string strategy_of(const TimingRow& row) {
  if (row.ulysses * row.ring == 1) return "single";
  if (row.ring == 1) return "ulysses";
  if (row.ulysses == 1) return row.other_parallel == "all-gather KV" ? "allgather_kv" : "ring";
  return fmt::format("usp:ulysses={},ring={}", row.ulysses, row.ring);
}

// Of the latent video: those of the row, or those of the model's preset.
int latent_frames(const TimingRow& row, const Model* model) {
  if (row.frames == 0) return model != nullptr ? model->grid[0] : 1;
  return 1 + ceil_div(row.frames - 1, model != nullptr ? model->frames_per_token : 1);
}

}  // namespace

std::string gpu_of(const TimingRow& row) {
  std::string gpu = lower_case(row.gpu.substr(0, row.gpu.find('/')));
  if (gpu.starts_with("rtx")) gpu = gpu.substr(3);
  return gpu;
}

std::string cluster_of(const TimingRow& row) {
  const std::string gpu = gpu_of(row), preset = gpu + "x8";
  const ClusterPreset* known = find_cluster_preset(preset);
  constexpr double kSlowestNvlink = 100;  // GB/s
  if (known != nullptr && (known->network.link_gbps > kSlowestNvlink) == row.nvlink()) return preset;
  return fmt::format("clusters/{}.toml", gpu.ends_with("-pcie") ? gpu : gpu + "-pcie");
}

void write_cluster_of(const TimingRow& row, const std::string& folder) {
  const std::filesystem::path file = cluster_of(row);
  if (file.extension() != ".toml") return;
  ClusterPreset host = *find_cluster_preset("l40sx8");
  host.name = file.stem().string();
  host.gpu = gpu_of(row);
  host.attention_kernel.clear(), host.implementation.clear();  // those of the GPU
  if (const std::size_t board = host.gpu.find("-48g"); board != host.gpu.npos) {
    const std::string number = "device.memory_gib";
    host.gpu.resize(board);
    host.device.memory_gib = 48;
    host.own_device.insert(number);
    host.sources[number] = "the board of the published runs has twice the memory";
    host.origins[number] = NumberOrigin::kAssumed;
  }
  std::filesystem::create_directories(folder / file.parent_path());
  write_profile((folder / file).string(), host);
}

bool is_video(const TimingRow& row) { return latent_frames(row, find_model_preset(lower_case(row.model))) > 1; }

ConfigKeys row_config(const TimingRow& row, const std::string& cluster) {
  const std::string preset = lower_case(row.model);
  const Model* model = find_model_preset(preset);
  const int frames = latent_frames(row, model);
  // Pixels of one token, each way.
  const int side = static_cast<int>(std::lround(std::sqrt(model != nullptr ? model->pixels_per_token : 256)));
  const int height = row.height / side, width = row.width / side;
  const bool spatiotemporal = model != nullptr && model->spatiotemporal();
  const std::int64_t tokens = std::int64_t{height} * width * (spatiotemporal ? 1 : frames);
  const int block = tokens > kManyTokens ? kLargeBlock : kSmallBlock;
  // Eager code makes one batch of the passes that the same ranks do.
  const bool batched = row.implementation == "eager" && row.cfg_parallel == 1;
  const bool two_kinds = model != nullptr && model->single_layers > 0 && model->single_layers < model->layers;
  const int steps = row.steps > 0 ? row.steps : model != nullptr ? model->denoise_steps : 1;
  const int passes = row.guidance_passes > 0 ? row.guidance_passes : model != nullptr ? model->cfg : 1;
  const std::string on = cluster.empty() ? cluster_of(row) : cluster;

  ConfigKeys keys = {{"model.preset", preset},
                     {"model.grid", fmt::format("{},{},{}", frames, height, width)},
                     {"model.denoise_steps", std::to_string(steps)},
                     {"model.cfg", std::to_string(passes)},
                     {"model.passes_in_batch", std::to_string(batched ? passes : 1)},
                     {"mask.pattern", "dense"},
                     {"mask.block", std::to_string(block)},
                     {on.ends_with(".toml") ? "cluster.profile" : "cluster.preset", on},
                     {"cluster.ranks", std::to_string(row.gpus)},
                     {"cluster.guidance", std::to_string(row.cfg_parallel)},
                     {"run.mode", "simulate"},
                     {"run.scope", "layer"},
                     {"run.layers", two_kinds ? "spread:2" : "spread:1"},
                     {"run.strategies", strategy_of(row)}};
  if (!row.implementation.empty()) keys.emplace_back("run.implementation", row.implementation);
  if (!row.kernel.empty()) keys.emplace_back("run.attention_kernel", row.kernel);
  return keys;
}

std::vector<std::string> settings_of(const ConfigKeys& keys) {
  std::vector<std::string> settings;
  for (const auto& [key, value] : keys) settings.push_back(fmt::format("{}={}", key, value));
  return settings;
}

}  // namespace spscope
