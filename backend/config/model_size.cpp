#include "backend/config/model_size.h"

#include <algorithm>
#include <string_view>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr std::int64_t kTimeChannels = 256;              // of the sinusoidal embedding of the denoise step
constexpr std::int64_t kCogVideoXCondition = 512;        // channels of CogVideoX's condition
constexpr std::int64_t kShiftsScalesGates = 6;           // of a block with attention and feed-forward network
constexpr std::int64_t kShiftsScalesGatesOfOneGate = 3;  // of a single-stream block

struct Around {
  std::string_view name;
  std::int64_t patch_in, patch_out, text_channels, pooled_channels, refiner_blocks, image_channels;
  bool own_modulation;
};

const Around& around(std::string_view name) {
  static constexpr Around rows[] = {
#define MODEL_SIZE(name, patch_in, patch_out, text, pooled, refiners, image, own_modulation, source) \
  {name, patch_in, patch_out, text, pooled, refiners, image, own_modulation != 0},
#include "backend/config/model_size.def"
#undef MODEL_SIZE
  };
  const auto* row = std::ranges::find(rows, name, &Around::name);
  SPSCOPE_CHECK(row != std::end(rows));
  return *row;
}

struct Layer {
  std::int64_t attention = 0, ffn = 0, modulation = 0;
  std::int64_t total() const { return attention + ffn + modulation; }
};

void add(ModelSize& size, const Layer& layer, std::int64_t count) {
  if (count == 0) return;
  size.attention += count * layer.attention;
  size.ffn += count * layer.ffn;
  size.modulation += count * layer.modulation;
  size.largest_layer = std::max(size.largest_layer, layer.total());
  size.largest_layer_modulation = std::max(size.largest_layer_modulation, layer.modulation);
}

void add_layers(const Model& model, const Around& about, ModelSize& size) {
  const std::int64_t h = model.hidden, square = h * h, attention = 4 * square, ffn = 2 * h * model.ffn;
  switch (model.family) {
    case ModelFamily::kWan: {
      const std::int64_t of_picture = about.image_channels > 0 ? 2 * square : 0;
      return add(size, {(model.cross_attention() ? 2 * attention : attention) + of_picture, ffn, 0}, model.layers);
    }
    case ModelFamily::kMmdit:
      add(size, {2 * attention, 2 * ffn, 2 * kShiftsScalesGates * square}, model.layers - model.single_layers);
      return add(size, {attention, ffn, kShiftsScalesGatesOfOneGate * square}, model.single_layers);
    case ModelFamily::kCogVideoX:
      return add(size, {attention, ffn, 2 * kCogVideoXCondition * kShiftsScalesGates * h}, model.layers);
    case ModelFamily::kSpatiotemporal: {
      const std::int64_t modulation = about.own_modulation ? 2 * kShiftsScalesGates * square : 0;
      return add(size, {(model.cross_attention() ? 4 : 2) * attention, model.mlp_per_layer * ffn, modulation},
                 model.layers);
    }
  }
}

// Two projections, the first from `in` channels.
std::int64_t perceptron(std::int64_t in, std::int64_t channels) { return in * channels + channels * channels; }

std::int64_t outside(const Model& model, const Around& about) {
  const std::int64_t h = model.hidden, text = about.text_channels;
  std::int64_t sum = h * (about.patch_in + about.patch_out);
  switch (model.family) {
    case ModelFamily::kWan:
      if (about.image_channels > 0) sum += about.image_channels * (about.image_channels + h);
      return sum + perceptron(text, h) + perceptron(kTimeChannels, h) + kShiftsScalesGates * h * h;
    case ModelFamily::kMmdit: {
      // Time and guidance, a pooled text, and the shift and scale before the output.
      sum += 2 * perceptron(kTimeChannels, h) + perceptron(about.pooled_channels, h) + 2 * h * h + text * h;
      // A refiner conditions itself on time and text; a block is attention, feed-forward network and two gates.
      if (about.refiner_blocks > 0)
        sum += perceptron(kTimeChannels, h) + perceptron(text, h) + about.refiner_blocks * 14 * h * h;
      return sum;
    }
    case ModelFamily::kCogVideoX:
      return sum + text * h + perceptron(h, kCogVideoXCondition) + 2 * kCogVideoXCondition * h;
    case ModelFamily::kSpatiotemporal:
      sum += perceptron(kTimeChannels, h);
      if (model.cross_attention()) sum += perceptron(text, h);
      return sum + (about.own_modulation ? 2 : kShiftsScalesGates) * h * h;
  }
  return sum;
}

}  // namespace

ModelSize model_size(const Model& model) {
  const Around& about = around(model.name);
  ModelSize size;
  add_layers(model, about, size);
  size.outside = outside(model, about);
  return size;
}

}  // namespace spscope
