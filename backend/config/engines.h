// Engines: the programs that serve diffusion transformers, what each has of the ways to divide a model over GPUs, and
// what is typed there for it (engines.def, docs/engines.md).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spscope {

// Ulysses, Ring, Gather (of all keys and values), Tensor (weights and heads cut): how the GPUs of a plan share a layer.
// Guidance: its two passes at once. UnevenHeads: numbers of heads that Ulysses' GPUs do not divide. Sharded: weights.
// Sparge, Vsa: attention on NVIDIA GPUs with the masks of these patterns, which runs with Ulysses alone. HeadBalance:
// heads of such masks dealt to Ulysses' GPUs by weight, as snake does. Compiled: torch.compile, where it is asked for;
// Eager: none, where it compiles unasked; no setup needs them. TextEncoderOut, VaeOut: the text encoder in the memory
// of the host, and the VAE there or decoding in tiles, which no setup needs either: memory does.
enum class EngineFeature {
  kUlysses,
  kRing,
  kGather,
  kTensor,
  kGuidance,
  kUnevenHeads,
  kSharded,
  kSparge,
  kVsa,
  kHeadBalance,
  kTextEncoderOut,
  kVaeOut,
  kCompiled,
  kEager
};
inline constexpr int kEngineFeatures = 14;
std::string_view feature_name(EngineFeature feature);  // "ulysses", "uneven heads"

struct Engine {
  struct Feature {
    std::string_view text, page;                // empty: it has none
    std::vector<std::string_view> models = {};  // how names of those presets begin that have it; empty: all
  };
  // What a backend of sparse attention takes (LIMITS of engines.def).
  struct Limits {
    EngineFeature feature;
    std::string_view backend;
    int least = 0, most = 0;  // compute capabilities
    std::vector<int> head_dims;
  };
  // What chooses attention kernels of a GPU's profile (KERNEL of engines.def). Without a text no flag does: the engine
  // runs the first of them that is installed.
  struct Kernel {
    std::string_view text, page;
    std::vector<std::string_view> kernels;
  };
  std::string_view id, title, models, launch, on_nodes, separator, behind;
  bool sharded_tensor = true;
  std::string_view settings;  // "section.key=value", with blanks between them
  std::string_view ring;      // when its ring gathers all keys: "at once"; "": it passes them on
  std::string_view repository;
  std::array<Feature, kEngineFeatures> features = {};
  std::vector<Limits> limits = {};
  std::vector<Kernel> kernels = {};

  const Feature& feature(EngineFeature f) const { return features[static_cast<std::size_t>(f)]; }
  bool has(EngineFeature f) const { return !feature(f).text.empty(); }
  bool has(EngineFeature f, std::string_view preset) const;  // for that model; "": for any
  std::string source(EngineFeature f) const;                 // the address of its page
  // The row that has this attention kernel; nullptr: no source says how it is chosen.
  const Kernel* find_kernel(std::string_view kernel) const;
  // What chooses it for dense attention; "": no flag does, as far as sources say.
  std::string_view choice_of(std::string_view kernel) const;
  // The patterns of sparse masks that an attention backend of it makes for this model; "": for any.
  std::vector<std::string_view> patterns(std::string_view preset) const;
  bool runs_model(std::string_view preset) const { return preset.starts_with(models); }
};

// In the order of engines.def.
std::span<const Engine> engines();
// Throws Error(kUsage) naming those that there are, of an unknown id.
const Engine& find_engine(std::string_view id);

// Masks of a file of which nobody said an attention backend.
inline constexpr std::string_view kOwnMasks = "a file";
// Whether some engine has an attention backend that makes masks of this pattern and runs them by the kernel of that
// name.
bool is_backend_pattern(std::string_view pattern);

// 10 * major + minor, of a GPU of backend/config/gpus; 0: it is not known.
int compute_capability(std::string_view gpu);

// How a model is to run: on ulysses x ring, gather or tensor GPUs a pass, and `guidance` passes at once.
struct EngineSetup {
  std::string strategy;    // as in strategies.def
  std::string model = {};  // its preset; "": any
  bool own_order = false;  // blocks or ranks are dealt out otherwise than in a row, which no engine has
  int heads = 1, ulysses = 1, ring = 1, gather = 1, tensor = 1, guidance = 1;
  bool in_pieces = false;              // all-to-alls of some heads run beside the attention of others
  bool sharded = false;                // weights
  bool compiled = false;               // by torch.compile, or fused by hand
  std::string kernel = {};             // of attention, as in backend/config/gpus; "": any
  std::string masks = {};              // their pattern, which names the attention backend, or kOwnMasks; "": dense
  std::optional<double> density = {};  // that flags set for them; absent: none does
  int head_dim = 0;                    // 0: any
  std::string gpu = {};                // as in backend/config/gpus; "": any
  int gpus_per_node = 0;               // 0: all are on one
  // What leaves the GPU, so that the rest fits.
  bool text_encoder_out = false, vae_out = false;

  int gpus() const { return ulysses * ring * gather * tensor * guidance; }
  int nodes() const { return gpus_per_node > 0 ? (gpus() + gpus_per_node - 1) / gpus_per_node : 1; }
  // GPUs that share out the heads do not divide them.
  bool uneven() const { return heads % (ulysses * tensor) != 0; }
};

// What the engine lacks for it: "snake", "uneven heads"; "": nothing. Whether it runs the model is another question.
std::string missing_in(const Engine& engine, const EngineSetup& setup);
// "SGLang's SpargeAttn runs on GPUs of compute capability 8.0 to 9.0; b200 has 10.0", of masks of this pattern; "": it
// runs there.
std::string backend_limit(const Engine& engine, std::string_view pattern, const EngineSetup& setup);
// The ids of those that lack nothing and run the model.
std::vector<std::string_view> engines_with(const EngineSetup& setup, std::string_view model);
// Whether sources show how it starts on the nodes of the setup.
bool knows_start(const Engine& engine, const EngineSetup& setup);
// What is typed: "sglang serve --model-path MODEL --num-gpus 8 --ulysses-degree 4". It is only the flags where no
// source shows how the engine starts (knows_start()). Of kOwnMasks the attention backend is left to the reader, and
// so is a kernel that Engine::choice_of() has no text for.
// REQUIRES: nothing is missing.
std::string engine_command(const Engine& engine, const EngineSetup& setup);

}  // namespace spscope
