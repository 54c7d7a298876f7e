#include "backend/config/model_companions.h"

#include <algorithm>
#include <tuple>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr std::int64_t kTensorsOfADecoder = 9;
constexpr std::int64_t kMillion = 1'000'000;

struct Row {
  std::string_view name, text_encoder;
  std::int64_t encoder_millions, encoder_bytes, vae_millions, vae_bytes, channels, frames, tile;
};

const Row& row_of(std::string_view name) {
  static constexpr Row rows[] = {
#define COMPANIONS(name, encoder, encoder_millions, encoder_bytes, vae_millions, vae_bytes, channels, frames, tile, \
                   source)                                                                                          \
  {name, encoder, encoder_millions, encoder_bytes, vae_millions, vae_bytes, channels, frames, tile},
#include "backend/config/model_companions.def"
#undef COMPANIONS
  };
  const auto* row = std::ranges::find(rows, name, &Row::name);
  SPSCOPE_CHECK(row != std::end(rows));
  return *row;
}

}  // namespace

Companions companions(const Model& model) {
  const auto shape = [](const Model& m) { return std::tuple(m.layers, m.hidden, m.heads, m.head_dim, m.ffn); };
  if (shape(model) != shape(*find_model_preset(model.name))) return {.text_encoder_unknown = true, .vae_unknown = true};
  const Row& row = row_of(model.name);
  Companions beside;
  beside.text_encoder_name = row.text_encoder;
  beside.text_encoder = row.encoder_millions * kMillion * row.encoder_bytes;
  beside.vae_unknown = row.vae_millions < 0;
  beside.vae = std::max<std::int64_t>(0, row.vae_millions) * kMillion * row.vae_bytes;
  const std::int64_t frame = std::int64_t{model.grid[1]} * model.grid[2] * model.pixels_per_token;
  const std::int64_t pixels = row.tile > 0 ? std::min(row.tile, frame) : frame;
  const std::int64_t frames = std::min<std::int64_t>(row.frames, model.output_frames());
  beside.decoding = kTensorsOfADecoder * row.channels * row.vae_bytes * frames * pixels * model.samples();
  return beside;
}

}  // namespace spscope
