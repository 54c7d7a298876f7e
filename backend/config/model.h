// Models: presets (model_presets.def), and the shape of a config with its gaps filled from a preset.
//
// Tokens lie on a grid [outer][inner]. Full 3D attention sees one sequence of all video tokens and the text tokens that
// take part in self-attention (outer 1). A spatiotemporal layer attends along the inner axis (height x width of one
// frame) and then along the outer axis (the frames at one position).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/config/run_config.h"

namespace spscope {

// wan: text by cross-attention. mmdit: video and text streams with joint attention, then single-stream layers.
// cogvideox: one stream of text and video. spatiotemporal: a spatial and a temporal block in each layer.
enum class ModelFamily { kWan, kMmdit, kCogVideoX, kSpatiotemporal };
std::string_view family_name(ModelFamily family);

// What layers do to q and k before attention. Plans norm and rotate them for every model; where the published one does
// not, modelled times leave it out.
enum class QkForm { kNormRotary, kNorm, kPlain };

// The shape of a model on its input. In a preset and in a resolved model every number is filled in.
struct Model {
  std::string name;
  ModelFamily family = ModelFamily::kWan;
  int layers = 0;
  int single_layers = 0;                             // of `layers`, the single-stream ones of an mmdit
  int hidden = 0, heads = 0, head_dim = 0, ffn = 0;  // hidden = heads x head_dim
  TokenGrid grid = {};
  int joint_text_tokens = 0;  // part of the self-attended sequence
  int cross_text_tokens = 0;  // seen by cross-attention only; no cross-attention when 0
  bool text_first = false;    // whether joint text precedes the video tokens
  int mlp_per_layer = 1;
  int denoise_steps = 0;        // of a whole generation
  int cfg = 1;                  // forward passes a denoise step
  int prediction_channels = 1;  // of the noise prediction at a video token, after its last projection
  int batch = 1;                // of a forward pass: samples x passes_in_batch
  std::string source;
  QkForm qk = QkForm::kNormRotary;
  int frames_per_token =
      4;  // of the output, beyond the first, by the VAE and the patches; 1: images, or frame by frame
  int pixels_per_token = 256;  // of an output frame, by the VAE and the patches
  // Transformers of this shape, of which one runs in a denoise step: experts by the level of noise.
  int experts = 1;
  // Bytes of a token and channel that its official code holds at once beyond ImplementationProfile::working_bytes.
  int more_working_bytes = 0;
  int passes_in_batch = 1;  // guidance passes that a forward pass computes as a batch

  bool spatiotemporal() const { return family == ModelFamily::kSpatiotemporal; }
  // The first single-stream layer: those before it are double-stream. `layers` where all are of one kind.
  int first_single_layer() const { return layers - single_layers; }
  bool cross_attention() const { return cross_text_tokens > 0; }
  std::int64_t video_tokens() const { return std::int64_t{grid[0]} * grid[1] * grid[2]; }
  // Tokens of one sample that self-attention layers hold: video and joint text.
  std::int64_t tokens() const { return video_tokens() + joint_text_tokens; }
  // Frames of a generation: the first token along time is one frame by itself.
  int output_frames() const { return frames_per_token == 1 ? grid[0] : 1 + frames_per_token * (grid[0] - 1); }
  // Output of a generation, 10^6 pixels of all frames.
  double output_mpixels() const {
    return static_cast<double>(output_frames()) * grid[1] * grid[2] * pixels_per_token * 1e-6;
  }
  int samples() const { return batch / passes_in_batch; }
  bool is_image() const { return grid[0] == 1; }
  // Sequences and their length along the attended inner axis: 1 x tokens, or frames x (height x width).
  std::int64_t outer() const { return spatiotemporal() ? grid[0] : 1; }
  std::int64_t inner() const { return spatiotemporal() ? std::int64_t{grid[1]} * grid[2] : tokens(); }
};

// In the order of model_presets.def.
std::span<const Model> model_presets();
std::vector<std::string_view> model_preset_names();
// nullptr when the name is not known.
const Model* find_model_preset(std::string_view name);
// The preset that is meant: whatever the case, behind the name of a publisher, and before "-diffusers". As it is where
// there is none: "Wan-AI/Wan2.1-T2V-14B-Diffusers" is wan2.1-t2v-14b.
std::string model_preset_meant(std::string_view typed);

// Model::first_single_layer of a preset at another depth: single-stream layers keep their share, rounded down.
int first_single_layer(const Model& preset, int layers);

// The model of a config. Keys that are set replace the preset's; of hidden, heads and head_dim, those not set follow
// from those that are, and ffn keeps the preset's ratio to hidden. Adds problems (unknown preset, hidden that is not
// heads x head_dim, sizes that overflow); the result is then invalid.
Model resolve_model(const ModelConfig& config, std::vector<Problem>& problems);

}  // namespace spscope
