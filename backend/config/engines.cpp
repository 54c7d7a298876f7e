#include "backend/config/engines.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/error.h"
#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

constexpr std::string_view kFeatureNames[kEngineFeatures] = {"ulysses",
                                                             "ring",
                                                             "gathering keys and values",
                                                             "tensor parallelism",
                                                             "guidance passes at once",
                                                             "uneven heads",
                                                             "sharded weights",
                                                             "masks of sparge",
                                                             "masks of vsa",
                                                             "balanced heads",
                                                             "the text encoder elsewhere",
                                                             "the VAE elsewhere or in tiles",
                                                             "compiled code",
                                                             "code that is not compiled"};
// The patterns that an engine may have an attention backend for.
constexpr std::pair<std::string_view, EngineFeature> kPatterns[] = {{"sparge", EngineFeature::kSparge},
                                                                    {"vsa", EngineFeature::kVsa}};

std::vector<Engine> make_engines() {
  std::vector<Engine> list;
#define ENGINE(id, title, models, launch, on_nodes, separator, behind, sharded_tensor, settings, ring, repository) \
  list.push_back({id, title, models, launch, on_nodes, separator, behind, sharded_tensor, settings, ring, repository});
#define FEATURE(feature, text, page) \
  list.back().features[static_cast<std::size_t>(EngineFeature::k##feature)] = {text, page};
#define MODELS(feature, ...) \
  list.back().features[static_cast<std::size_t>(EngineFeature::k##feature)].models = {__VA_ARGS__};
#define LIMITS(feature, backend, least, most, ...) \
  list.back().limits.push_back({EngineFeature::k##feature, backend, least, most, {__VA_ARGS__}});
#define KERNEL(text, page, ...) list.back().kernels.push_back({text, page, {__VA_ARGS__}});
#define GPU(name, capability)
#include "backend/config/engines.def"
#undef GPU
#undef KERNEL
#undef LIMITS
#undef MODELS
#undef FEATURE
#undef ENGINE
  return list;
}

// The features that a setup takes, each with its number.
std::vector<std::pair<EngineFeature, int>> needs(const EngineSetup& s) {
  std::vector<std::pair<EngineFeature, int>> list;
  const auto add = [&](bool needed, EngineFeature feature, int number) {
    if (needed) list.emplace_back(feature, number);
  };
  add(s.guidance > 1, EngineFeature::kGuidance, s.guidance);
  add(s.ulysses > 1, EngineFeature::kUlysses, s.ulysses);
  add(s.ring > 1, EngineFeature::kRing, s.ring);
  add(s.gather > 1, EngineFeature::kGather, s.gather);
  add(s.tensor > 1, EngineFeature::kTensor, s.tensor);
  add(s.uneven(), EngineFeature::kUnevenHeads, s.ulysses);
  add(s.sharded, EngineFeature::kSharded, s.gpus());
  for (const auto& [pattern, feature] : kPatterns) add(s.masks == pattern, feature, 1);
  add(s.strategy == "snake", EngineFeature::kHeadBalance, 1);
  add(s.text_encoder_out, EngineFeature::kTextEncoderOut, 1);
  add(s.vae_out, EngineFeature::kVaeOut, 1);
  return list;
}

// "", or what the engine lacks for the masks.
std::string missing_masks(const Engine& engine, const EngineSetup& s) {
  const auto runs = [&](std::string_view pattern) {
    return (s.masks == kOwnMasks || s.masks == pattern) && backend_limit(engine, pattern, s).empty();
  };
  if (std::ranges::none_of(engine.patterns(s.model), runs)) return "attention with masks of " + s.masks;
  // SGLang's SpargeAttn has no rings (pull 37437), vLLM-Omni rejects rings and gathers of VSA (pull 6909), and no
  // source shows them elsewhere.
  return s.ring > 1 || s.gather > 1 || s.tensor > 1 ? "sparse attention with anything but Ulysses" : "";
}

}  // namespace

std::string_view feature_name(EngineFeature feature) { return kFeatureNames[static_cast<std::size_t>(feature)]; }

bool Engine::has(EngineFeature f, std::string_view preset) const {
  const std::vector<std::string_view>& all = feature(f).models;
  return has(f) && (preset.empty() || all.empty() ||
                    std::ranges::any_of(all, [&](std::string_view name) { return preset.starts_with(name); }));
}

std::string Engine::source(EngineFeature f) const {
  const std::string_view page = feature(f).page;
  return page.starts_with("https://") ? std::string(page) : fmt::format("{}{}", repository, page);
}

const Engine::Kernel* Engine::find_kernel(std::string_view kernel) const {
  const auto found =
      std::ranges::find_if(kernels, [&](const Kernel& k) { return std::ranges::count(k.kernels, kernel) > 0; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string_view Engine::choice_of(std::string_view kernel) const {
  const Kernel* found = find_kernel(kernel);
  return found == nullptr ? std::string_view() : found->text;
}

std::vector<std::string_view> Engine::patterns(std::string_view preset) const {
  std::vector<std::string_view> list;
  for (const auto& [pattern, of] : kPatterns)
    if (has(of, preset)) list.push_back(pattern);
  return list;
}

bool is_backend_pattern(std::string_view pattern) {
  return std::ranges::any_of(kPatterns, [&](const auto& row) { return row.first == pattern; });
}

std::span<const Engine> engines() {
  static const std::vector<Engine> list = make_engines();
  return list;
}

const Engine& find_engine(std::string_view id) {
  const auto found = std::ranges::find(engines(), id, &Engine::id);
  if (found != engines().end()) return *found;
  std::vector<std::string_view> names;
  for (const Engine& engine : engines()) names.push_back(engine.id);
  const std::string near = nearest_name(id, names);
  throw Error(
      ErrorCode::kUsage, fmt::format("--engine {}: there is no such engine", id),
      near.empty() ? fmt::format("use one of {}", fmt::join(names, ", ")) : fmt::format("did you mean \"{}\"?", near));
}

std::string missing_in(const Engine& engine, const EngineSetup& s) {
  constexpr std::string_view kKnown[] = {"single", "ulysses", "ring", "usp", "allgather_kv", "megatron_tp"};
  // Heads are balanced by the backend that makes the masks.
  const bool balanced = s.strategy == "snake" && engine.has(EngineFeature::kHeadBalance) && s.masks == "sparge";
  if (!balanced && std::ranges::find(kKnown, s.strategy) == std::end(kKnown)) return s.strategy;
  if (s.own_order) return "another order of blocks, heads or ranks";
  if (s.in_pieces) return "all-to-alls in pieces";
  if (s.gather > 1 && s.ulysses > 1) return "a gather of keys beside Ulysses";  // vLLM-Omni's pull 7641 is open
  for (const auto& [feature, number] : needs(s)) {
    if (!engine.has(feature)) return std::string(feature_name(feature));
    if (!engine.has(feature, s.model)) return fmt::format("{} for {}", feature_name(feature), s.model);
  }
  // Both engines that take uneven heads do so without rings and without cut weights; passes at once are two of them.
  if (s.uneven() && (s.ring > 1 || s.tensor > 1)) return std::string(feature_name(EngineFeature::kUnevenHeads));
  if (!s.masks.empty())
    if (std::string missing = missing_masks(engine, s); !missing.empty()) return missing;
  if (s.guidance > 2) return std::string(feature_name(EngineFeature::kGuidance));
  return s.sharded && s.tensor > 1 && !engine.sharded_tensor ? "sharded weights with tensor parallelism" : "";
}

int compute_capability(std::string_view gpu) {
  constexpr std::pair<std::string_view, int> kGpus[] = {
#define ENGINE(...)
#define FEATURE(...)
#define MODELS(...)
#define LIMITS(...)
#define KERNEL(...)
#define GPU(name, capability) {name, capability},
#include "backend/config/engines.def"
#undef GPU
#undef KERNEL
#undef LIMITS
#undef MODELS
#undef FEATURE
#undef ENGINE
  };
  const auto found = std::ranges::find(kGpus, gpu, &std::pair<std::string_view, int>::first);
  return found == std::end(kGpus) ? 0 : found->second;
}

std::string backend_limit(const Engine& engine, std::string_view pattern, const EngineSetup& s) {
  const auto of = std::ranges::find(kPatterns, pattern, &std::pair<std::string_view, EngineFeature>::first);
  if (of == std::end(kPatterns)) return "";
  const auto limits = std::ranges::find(engine.limits, of->second, &Engine::Limits::feature);
  if (limits == engine.limits.end()) return "";
  const auto text = [](int capability) { return fmt::format("{}.{}", capability / 10, capability % 10); };
  const int has = compute_capability(s.gpu);
  if (has > 0 && (has < limits->least || has > limits->most))
    return fmt::format("{}'s {} runs on GPUs of compute capability {}{}; {} has {}", engine.title, limits->backend,
                       text(limits->least), limits->most > limits->least ? " to " + text(limits->most) : "", s.gpu,
                       text(has));
  if (s.head_dim > 0 && std::ranges::find(limits->head_dims, s.head_dim) == limits->head_dims.end())
    return fmt::format("{}'s {} takes heads of {} channels; these have {}", engine.title, limits->backend,
                       fmt::join(limits->head_dims, " or "), s.head_dim);
  return "";
}

std::vector<std::string_view> engines_with(const EngineSetup& setup, std::string_view model) {
  std::vector<std::string_view> list;
  EngineSetup of_model = setup;
  of_model.model = model;
  for (const Engine& engine : engines())
    if (engine.runs_model(model) && missing_in(engine, of_model).empty()) list.push_back(engine.id);
  return list;
}

bool knows_start(const Engine& engine, const EngineSetup& setup) {
  const int nodes = setup.nodes();
  return nodes == 1 || (!engine.on_nodes.empty() && setup.gpus() % nodes == 0);
}

namespace {

// The text of a feature without the flag that holds the density of the masks.
std::string without_density(std::string_view feature) {
  std::string text(feature);
  const std::size_t at = std::min(text.find("{density}"), text.find("{sparsity}"));
  if (at == text.npos) return text;
  const std::size_t blank = text.rfind(" --", at), begin = blank == text.npos ? 0 : blank;
  return text.erase(begin, text.find(' ', at) - begin);
}

// Each flag as it is typed. A flag that stands in place of another one removes it.
std::vector<std::string> flags_of(const Engine& engine, const EngineSetup& setup) {
  constexpr std::string_view kInPlace = " in place of ";
  const auto share = [](double number) { return fmt::format("{:.3g}", number); };
  std::vector<std::string> flags;
  const double density = setup.density.value_or(1);
  for (const auto& [feature, number] : needs(setup)) {
    const std::string_view as_listed = engine.feature(feature).text;
    std::string text =
        fmt::format(fmt::runtime(setup.density ? std::string(as_listed) : without_density(as_listed)), number,
                    fmt::arg("density", share(density)), fmt::arg("sparsity", share(1 - density)));
    if (const std::size_t at = text.find(kInPlace); at != text.npos) {
      const std::string other = " " + text.substr(at + kInPlace.size());
      text.resize(at);
      for (std::string& flag : flags)
        if (const std::size_t found = flag.find(other); found != flag.npos) flag.erase(found, other.size());
    }
    flags.push_back(std::move(text));
  }
  return flags;
}

}  // namespace

std::string engine_command(const Engine& engine, const EngineSetup& setup) {
  const std::string flags = fmt::format("{}", fmt::join(flags_of(engine, setup), engine.separator));
  const int nodes = setup.nodes();
  const std::string_view launch = !knows_start(engine, setup) ? "{flags}" : nodes > 1 ? engine.on_nodes : engine.launch;
  // Sparse masks have the kernel of their attention backend, which a feature of its own sets, or nothing does.
  const std::string kernel(setup.masks.empty() ? engine.choice_of(setup.kernel) : "");
  const bool first = launch.find("{kernel}") != launch.npos;
  std::string text = fmt::format(fmt::runtime(launch), fmt::arg("gpus", setup.gpus()), fmt::arg("nodes", nodes),
                                 fmt::arg("local", setup.gpus() / nodes), fmt::arg("flags", flags),
                                 fmt::arg("kernel", kernel.empty() ? "" : fmt::format("{}{}", kernel, engine.behind)));
  while (text.ends_with(' ')) text.pop_back();
  const EngineFeature code = setup.compiled ? EngineFeature::kCompiled : EngineFeature::kEager;
  for (const std::string_view last : {first ? std::string_view() : kernel, engine.feature(code).text})
    if (!last.empty()) text += fmt::format("{}{}", text.empty() ? "" : engine.behind, last);
  return text;
}

}  // namespace spscope
