// Model presets and the rules by which a config's own numbers replace a preset's.
#include "backend/config/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/base/letter_case.h"
#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

// A resolved size must leave room for sums over ranks, steps and layers in 64 bits: FLOPs of one dense attention layer
// stay below 2^62, and token indices below 2^31.
constexpr double kMaxLayerFlops = 0x1.0p62;
constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();

constexpr std::string_view kFamilies[] = {"wan", "mmdit", "cogvideox", "spatiotemporal"};

void report(std::vector<Problem>& problems, ErrorCode code, std::string field, std::string message, std::string hint) {
  problems.push_back({code, std::move(field), std::move(message), std::move(hint)});
}

// Fills hidden, heads and head_dim of `model` from the keys that are set.
void resolve_width(const ModelConfig& config, Model& model, std::vector<Problem>& problems) {
  if (config.heads == 0 && config.head_dim == 0 && config.hidden == 0) return;
  if (config.head_dim > 0) model.head_dim = config.head_dim;
  if (config.heads > 0) model.heads = config.heads;
  if (config.hidden > 0) {
    if (config.head_dim == 0 && config.heads > 0) model.head_dim = config.hidden / config.heads;
    if (config.heads == 0) model.heads = config.hidden / model.head_dim;
  }
  const std::int64_t width = std::int64_t{model.heads} * model.head_dim;
  if (config.hidden > 0 && (width != config.hidden || model.heads < 1 || model.head_dim < 1)) {
    report(problems, ErrorCode::kConfigConflict, "model.hidden",
           fmt::format("hidden = {} is not heads x head_dim = {} x {}", config.hidden, model.heads, model.head_dim),
           "leave one of the three out and it follows from the others");
    return;
  }
  if (width > (1 << 20)) {
    report(problems, ErrorCode::kConfigRange, "model.heads",
           fmt::format("heads x head_dim = {} exceeds {}", width, 1 << 20), "");
    return;
  }
  model.hidden = static_cast<int>(width);
}

void resolve_grid(const ModelConfig& config, Model& model, std::vector<Problem>& problems) {
  if (config.grid == TokenGrid{0, 0, 0}) return;
  if (std::find(config.grid.begin(), config.grid.end(), 0) != config.grid.end()) {
    report(problems, ErrorCode::kConfigRange, "model.grid",
           fmt::format("[{}] has a zero", fmt::join(config.grid, ", ")),
           "give all of frames, height and width, or [0, 0, 0] for the preset's");
    return;
  }
  model.grid = config.grid;
}

void resolve_text(const ModelConfig& config, Model& model, std::vector<Problem>& problems) {
  if (config.text_tokens < 0) return;
  if (model.joint_text_tokens > 0)
    model.joint_text_tokens = config.text_tokens;
  else if (model.cross_text_tokens > 0)
    model.cross_text_tokens = config.text_tokens;
  else if (config.text_tokens > 0)
    report(problems, ErrorCode::kConfigConflict, "model.text_tokens", fmt::format("{} has no text input", model.name),
           "leave text_tokens out");
}

void check_sizes(const Model& model, std::vector<Problem>& problems) {
  if (model.tokens() > kMaxTokens) {
    report(problems, ErrorCode::kConfigRange, "model.grid",
           fmt::format("{} tokens a sample exceed {}", model.tokens(), kMaxTokens), "use a smaller grid");
    return;
  }
  const double tokens = static_cast<double>(model.tokens());
  if (4.0 * model.batch * model.hidden * tokens * tokens > kMaxLayerFlops)
    report(problems, ErrorCode::kConfigRange, "model.grid",
           fmt::format("one dense attention layer over {} tokens x {} channels x batch {} has more than 2^62 FLOPs",
                       model.tokens(), model.hidden, model.batch),
           "use a smaller grid");
}

}  // namespace

std::string_view family_name(ModelFamily family) { return kFamilies[static_cast<std::size_t>(family)]; }

namespace {

std::vector<Model> make_presets() {
  std::vector<Model> presets = {
#define FORM(name, qk, frames)
#define EXPERTS(name, pixels, experts, modulation)
#define MODEL(name, family, layers, single_layers, hidden, heads, head_dim, ffn, frames, height, width, joint_text, \
              cross_text, text_first, mlps, steps, cfg, prediction, source)                                         \
  {name,                                                                                                            \
   ModelFamily::family,                                                                                             \
   layers,                                                                                                          \
   single_layers,                                                                                                   \
   hidden,                                                                                                          \
   heads,                                                                                                           \
   head_dim,                                                                                                        \
   ffn,                                                                                                             \
   {frames, height, width},                                                                                         \
   joint_text,                                                                                                      \
   cross_text,                                                                                                      \
   text_first,                                                                                                      \
   mlps,                                                                                                            \
   steps,                                                                                                           \
   cfg,                                                                                                             \
   prediction,                                                                                                      \
   1,                                                                                                               \
   source,                                                                                                          \
   QkForm::kNormRotary,                                                                                             \
   4},
#include "backend/config/model_presets.def"
#undef MODEL
#undef EXPERTS
#undef FORM
  };
  const auto set_form = [&](std::string_view name, QkForm qk, int frames) {
    Model& model = *std::ranges::find(presets, name, &Model::name);
    model.qk = qk;
    model.frames_per_token = frames;
  };
  const auto set_experts = [&](std::string_view name, int pixels, int experts, int more_working_bytes) {
    Model& model = *std::ranges::find(presets, name, &Model::name);
    model.pixels_per_token = pixels;
    model.experts = experts;
    model.more_working_bytes = more_working_bytes;
  };
#define MODEL(name, family, layers, single_layers, hidden, heads, head_dim, ffn, frames, height, width, joint_text, \
              cross_text, text_first, mlps, steps, cfg, prediction, source)
#define FORM(name, qk, frames) set_form(name, QkForm::qk, frames);
#define EXPERTS(name, pixels, experts, modulation) set_experts(name, pixels, experts, modulation);
#include "backend/config/model_presets.def"
#undef EXPERTS
#undef FORM
#undef MODEL
  return presets;
}

}  // namespace

std::span<const Model> model_presets() {
  static const std::vector<Model> presets = make_presets();
  return presets;
}

std::vector<std::string_view> model_preset_names() {
  std::vector<std::string_view> names;
  for (const Model& model : model_presets()) names.push_back(model.name);
  return names;
}

const Model* find_model_preset(std::string_view name) {
  const auto presets = model_presets();
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const Model& m) { return m.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

std::string model_preset_meant(std::string_view typed) {
  constexpr std::string_view kSuffix = "-diffusers";
  std::string name = lower_case(typed.substr(typed.rfind('/') + 1));
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return find_model_preset(name) != nullptr ? name : std::string(typed);
}

int first_single_layer(const Model& preset, int layers) {
  return layers - static_cast<int>(std::int64_t{preset.single_layers} * layers / preset.layers);
}

namespace {

void resolve_passes(const ModelConfig& config, Model& model, std::vector<Problem>& problems) {
  if (config.cfg > 0) model.cfg = config.cfg;
  model.passes_in_batch = config.passes_in_batch;
  model.batch = config.batch * config.passes_in_batch;
  if (model.cfg % config.passes_in_batch != 0)
    report(problems, ErrorCode::kConfigConflict, "model.passes_in_batch",
           fmt::format("{} of {} passes of guidance are not one batch", config.passes_in_batch, model.cfg),
           "passes_in_batch must divide model.cfg");
  else
    model.cfg /= config.passes_in_batch;
}

}  // namespace

Model resolve_model(const ModelConfig& config, std::vector<Problem>& problems) {
  const Model* preset = find_model_preset(config.preset);
  if (preset == nullptr) {
    const auto names = model_preset_names();
    const std::string near = nearest_name(config.preset, names);
    report(problems, ErrorCode::kConfigUnknownName, "model.preset", fmt::format("\"{}\" is not a model", config.preset),
           near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                        : fmt::format("did you mean \"{}\"?", near));
    return {};
  }
  const std::size_t known = problems.size();
  Model model = *preset;
  resolve_width(config, model, problems);
  resolve_grid(config, model, problems);
  resolve_text(config, model, problems);
  if (config.layers > 0) {
    model.single_layers = config.layers - first_single_layer(*preset, config.layers);
    model.layers = config.layers;
  }
  const std::int64_t ffn = std::int64_t{preset->ffn} * model.hidden / preset->hidden;
  model.ffn = config.ffn > 0 ? config.ffn : static_cast<int>(std::max<std::int64_t>(ffn, 1));
  resolve_passes(config, model, problems);
  if (config.denoise_steps > 0) model.denoise_steps = config.denoise_steps;
  if (problems.size() == known) check_sizes(model, problems);
  return model;
}

}  // namespace spscope
