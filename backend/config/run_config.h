// RunConfig: the complete input of a run, as a plain struct whose defaults are a valid small run. The TOML file and the
// flags of the command line set its members; config_fields.def lists its keys with
// type, range and help, and every reader and writer is driven by that table.
//
// In ModelConfig and ClusterConfig, 0 or "" means "from the preset"; resolve() in validate.h fills the gaps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/config/layer_choice.h"

namespace spscope {

// execute: real compute and messages on real ranks. project: each rank's compute measured alone, network scheduled.
// simulate: compute from the cost model, network scheduled. observed: of no config, but of a program that was watched
// (backend/store/observed_run.h).
enum class RunMode { kExecute, kProject, kSimulate, kObserved };
enum class RunScope { kAttention, kLayer };
// shard: text tokens are ordinary tokens. replicate: every rank holds the text, only video tokens are cut.
enum class TextLayout { kShard, kReplicate };
// replicated: every rank holds the weights that its strategy does not cut. sharded: each holds an even part of them,
// and gathers a layer before it computes it.
enum class WeightLayout { kReplicated, kSharded };
// What a weight of the transformer is stored as; kSame: as run.dtype. Arithmetic is that of run.dtype.
enum class WeightDtype { kSame, kFp32, kBf16, kFp8, kInt8, kInt4 };
// Where the text encoder is while the transformer runs: whole at every rank, not on a GPU, or an even part at each
// rank. kUnknown: it is not counted, and verdicts say what it would add.
enum class TextEncoderPlace { kUnknown, kGpu, kCpu, kSharded };
// How much of an output is compared with the reference.
enum class VerifyExtent { kFull, kSample, kOff };
// Which forward passes of guidance an execution runs: those that cluster.guidance runs at once, or after them all
// others too, which are then combined.
enum class PassChoice { kAtOnce, kAll };
// Whether the other cores idle or run the same operation while one rank's compute is measured.
enum class MeasureLoad { kAlone, kLoaded };
// What the array of a mask file holds: 0 and 1, or lists of key blocks (look-up tables); kAuto: by the arrays' names.
enum class MaskForm { kAuto, kBits, kLut };
// Whether such a list holds distances (each key block from the one before it) or key blocks. kAuto: as the layout has
// it, or the one reading that is possible.
enum class ListCoding { kAuto, kDelta, kAbsolute };

// The text of each enumerator, in order.
std::span<const std::string_view> choice_names(RunMode);
std::span<const std::string_view> choice_names(RunScope);
std::span<const std::string_view> choice_names(TextLayout);
std::span<const std::string_view> choice_names(VerifyExtent);
std::span<const std::string_view> choice_names(PassChoice);
std::span<const std::string_view> choice_names(MeasureLoad);
std::span<const std::string_view> choice_names(WeightLayout);
std::span<const std::string_view> choice_names(WeightDtype);
std::span<const std::string_view> choice_names(TextEncoderPlace);
std::span<const std::string_view> choice_names(MaskForm);
std::span<const std::string_view> choice_names(ListCoding);
std::span<const std::string_view> choice_names(Dtype);

template <typename Choice>
std::string_view choice_name(Choice choice) {
  return choice_names(choice)[static_cast<std::size_t>(choice)];
}
std::string_view choice_name(RunMode mode);  // of observed too

// Frames, height, width in tokens.
using TokenGrid = std::array<int, 3>;
// Values as text by key, for the parameters of one strategy or pattern.
using ParameterTexts = std::map<std::string, std::string, std::less<>>;
using ParameterTextsByName = std::map<std::string, ParameterTexts, std::less<>>;

struct ModelConfig {
  std::string preset = "wan-mini";
  TokenGrid grid = {0, 0, 0};
  int layers = 0, hidden = 0, heads = 0, head_dim = 0, ffn = 0;
  int text_tokens = -1;  // -1: from the preset; 0: no text
  int batch = 1;
  int cfg = 0;                   // passes a denoise step for classifier-free guidance
  int passes_in_batch = 1;       // of these, those that one forward pass computes as a batch
  int denoise_steps = 0;         // of a whole generation
  std::string activations = {};  // .npz or .safetensors with q, k, v [layers, heads, tokens, head_dim] or [heads, ...]
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

struct MaskConfig {
  std::string pattern = "sparge";
  std::string temporal_pattern = {};  // of the temporal axis of a spatiotemporal model; "": dense
  double density = 0.4;
  int block = 64;
  std::uint64_t seed = 1;
  std::string file = {};
  // How the file is read: MaskReading of mask_import.h.
  std::string array = {};
  MaskForm as = MaskForm::kAuto;
  std::string counts = {}, starts = {};
  ListCoding delta = ListCoding::kAuto;
  std::string axes = {};
  int batch = -1, q_block = 0, key_block = 0;
  // Not a key: the attention kernel whose lists the file holds (kernel_of_mask_file()); load_job() fills it.
  std::string kernel = {};
  // After which a GPU's kernel for these masks is named; "": it is not known.
  const std::string& method() const { return file.empty() ? pattern : kernel; }
  friend bool operator==(const MaskConfig&, const MaskConfig&) = default;
};

struct ClusterConfig {
  std::string preset = "local";
  int ranks = 0, nodes = 0, gpus_per_node = 0;
  std::string profile = {};  // a cluster file that replaces the preset
  // Data-parallel replicas, and forward passes of classifier-free guidance that run at once, each on ranks of its own:
  // ranks = dp x guidance x sequence-parallel ranks.
  int dp = 1, guidance = 1;
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// In run.collect: on runs with run.device = cuda every collector that can run there, else none; and none at all.
inline constexpr std::string_view kAutoCollect = "auto", kCollectNone = "none";

struct RunSection {
  RunMode mode = RunMode::kExecute;
  std::string device = "cpu", backend = "threads";
  std::vector<std::string> strategies = {"all"};  // "all": every one that can run, at its best setting
  LayerChoice layers;                             // of the model, that run
  int denoise_steps = 1;                          // how many of the model's are run
  int repeats = 5, warmup = 1;
  RunScope scope = RunScope::kAttention;
  Dtype dtype = Dtype::kBf16;
  TextLayout text = TextLayout::kShard;
  int mask_lag = 0;  // denoise steps by which the mask a plan knows is older than the one that runs
  std::string comm = "auto";
  int threads_per_rank = 1;
  std::uint64_t seed = 1;
  VerifyExtent verify = VerifyExtent::kSample;
  PassChoice passes = PassChoice::kAtOnce;
  std::string scratch = {}, output = {};
  MeasureLoad measure = MeasureLoad::kAlone;
  WeightLayout weights = WeightLayout::kReplicated;
  WeightDtype weight_dtype = WeightDtype::kSame;
  TextEncoderPlace text_encoder = TextEncoderPlace::kUnknown;
  double other_gib = 0;                                    // what else a rank needs, 2^30 bytes
  std::string implementation = {}, attention_kernel = {};  // "": the default of the profile layers
  // Names of collectors, or one of kAutoCollect and kCollectNone alone.
  std::vector<std::string> collect = {"auto"};
  friend bool operator==(const RunSection&, const RunSection&) = default;
};

// Bytes of a stored weight: 0.5 of int4. Scales of quantised weights are not in it.
double weight_bytes(const RunSection& run);

struct RunConfig {
  ModelConfig model;
  MaskConfig mask;
  ClusterConfig cluster;
  RunSection run;
  ParameterTextsByName pattern_parameters;   // [mask.NAME]
  ParameterTextsByName strategy_parameters;  // [strategy.NAME]
  // Not a key: the folder of the config file, where relative input paths start; "" is the current folder.
  std::string folder;
  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

// The path of an input (model.activations, mask.file, cluster.profile): as given when absolute, else in config.folder.
std::string input_path(const RunConfig& config, std::string_view path);

// "usp:ulysses=2,ring=2" taken apart. [strategy.NAME] gives defaults that these parameters override.
struct StrategyChoice {
  std::string name;
  ParameterTexts parameters;
};
// An element of run.strategies with the parameters of its [strategy.NAME] filled in. Text that does not have the form
// NAME[:key=value,...] leaves `name` empty.
StrategyChoice strategy_choice(const RunConfig& config, std::string_view text);

}  // namespace spscope
