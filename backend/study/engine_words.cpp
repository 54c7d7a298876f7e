#include "backend/study/engine_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/base/listed.h"
#include "backend/study/engine_choice.h"
#include "backend/study/weight_layout.h"

namespace spscope {

std::string flags_sentence(const Advice& advice, const Job& job, const Engine& engine) {
  const StrategyResult& fastest = advice.result(advice.chosen);
  EngineSetup setup = engine_setup(job, fastest);
  if (const std::string limit = backend_limit(engine, setup.masks, setup); !limit.empty()) return limit + ".";
  if (!missing_in(engine, setup).empty()) return fmt::format("{} has no {}.", engine.title, missing_in(engine, setup));
  if (!fastest.memory_need.ranks.empty()) {
    const auto [encoder, vae] = fastest.memory_need.elsewhere();
    setup.text_encoder_out = encoder && engine.has(EngineFeature::kTextEncoderOut);
    setup.vae_out = vae && engine.has(EngineFeature::kVaeOut);
  }
  const std::string times = job.cluster.dp > 1 ? fmt::format(", {} times", job.cluster.dp) : "";
  const std::string typed = engine_command(engine, setup) + times;
  std::string text;
  if (knows_start(engine, setup))
    text = fmt::format("In {}{}: {}", engine.title, setup.nodes() > 1 ? ", on each node" : "", typed);
  else
    text = fmt::format("docs/engines.md does not know how {} starts on {} nodes. Its flags are {}.", engine.title,
                       setup.nodes(), typed);
  return text;
}

std::string placing_sentence(const MemoryNeed& need, const std::vector<std::string_view>& ids) {
  if (need.ranks.empty()) return "";
  const auto [encoder, vae] = need.elsewhere();
  std::vector<std::string> ways;
  std::size_t count = 0;
  for (const std::string_view id : ids) {
    const Engine& engine = find_engine(id);
    if (!without_place(engine, need).empty()) continue;
    std::vector<std::string_view> flags;
    for (const auto& [out, feature] :
         {std::pair(encoder, EngineFeature::kTextEncoderOut), std::pair(vae, EngineFeature::kVaeOut)})
      if (const std::string_view text = engine.feature(feature).text; out)
        flags.push_back(text.substr(0, text.find(" in place of ")));
    count += flags.size();
    if (!flags.empty()) ways.push_back(fmt::format("{} in {}", listed(flags), engine.title));
  }
  if (ways.empty()) return "";
  return fmt::format("The flag{} for that {} {}", count == 1 ? "" : "s", count == 1 ? "is" : "are",
                     fmt::join(ways, ", "));
}

std::string no_flag_sentence(const Advice& advice, const Job& job, const Engine& engine) {
  const EngineSetup setup = engine_setup(job, advice.result(advice.chosen));
  if (!missing_in(engine, setup).empty()) return "";
  std::vector<std::string> parts;
  const Engine::Kernel* kernel = engine.find_kernel(setup.kernel);
  const bool is_dense = setup.masks.empty() && !setup.kernel.empty();
  if (is_dense && kernel == nullptr) parts.push_back("the attention kernel " + setup.kernel);
  if (setup.compiled && !engine.has(EngineFeature::kCompiled) && !engine.has(EngineFeature::kEager))
    parts.emplace_back("torch.compile");
  std::string text =
      parts.empty() ? ""
                    : fmt::format("docs/engines.md knows no flag of {} for {}.", engine.title, listed(parts, "or"));
  if (is_dense && kernel != nullptr && kernel->text.empty())
    text += fmt::format(
        "{}{} has no flag for the attention kernel. It runs the first of {} that is installed, and these times are of "
        "{}.",
        text.empty() ? "" : " ", engine.title, listed(kernel->kernels), setup.kernel);
  return text;
}

std::string masks_sentence(const Advice& advice, const Job& job, const Engine& engine) {
  const std::string masks = backend_masks(job);
  if (masks.empty()) return "";
  std::vector<std::string_view> patterns = engine.patterns(job.config.model.preset);
  std::erase_if(patterns, [&](std::string_view pattern) {
    return !backend_limit(engine, pattern, engine_setup(job, advice.result(advice.chosen))).empty();
  });
  const std::string& kernel = job.cluster.preset.attention_kernel;
  if (masks == kOwnMasks && patterns.empty()) return "";
  if (masks == kOwnMasks)
    return fmt::format(
        "This command sets no attention backend, so it attends densely. {} {} has backends of {}, and --kernel chooses "
        "one for the times and the command.",
        kernel.empty() || is_backend_pattern(kernel)
            ? "Your masks do not say which backend makes them."
            : fmt::format("The times are of {}, which no backend of {} makes masks for.", kernel, engine.title),
        engine.title, listed(patterns));
  std::string text = masks == "vsa" ? "VSA needs a model that was trained for it." : "";
  if (std::ranges::count(patterns, masks) == 0) return text;
  const std::string gap = text.empty() ? "" : " ";
  if (!job.config.mask.file.empty())
    return text + fmt::format(
                      "{}The command sets no density. {} makes masks of {} anew as it runs, and they may be denser or "
                      "sparser than yours.",
                      gap, engine.title, masks);
  const std::string_view flag = engine.feature(masks == "vsa" ? EngineFeature::kVsa : EngineFeature::kSparge).text;
  if (flag.find("density}") == flag.npos && flag.find("sparsity}") == flag.npos)
    text += fmt::format("{}No flag of {} sets a density, so your run may have another one.", gap, engine.title);
  if (kernel != masks)
    text += fmt::format("{}{} runs masks of {} with a kernel of its own, and the times here are of {}.",
                        text.empty() ? "" : " ", engine.title, masks, kernel);
  return text;
}

std::string no_shards_sentence(const Advice& advice, const Job& job, const Engine& engine) {
  const bool memory = std::ranges::any_of(advice.runs.together.strategies, lacks_memory);
  if (!memory || engine.has(EngineFeature::kSharded, job.config.model.preset)) return "";
  std::vector<std::string_view> others;
  for (const Engine& other : engines())
    if (other.has(EngineFeature::kSharded, job.config.model.preset) && other.runs_model(job.config.model.preset))
      others.push_back(other.title);
  return fmt::format("Whole weights do not fit, and docs/engines.md knows no sharded weights of {}. {} {} them.",
                     engine.title, listed(others), others.size() == 1 ? "has" : "have");
}

std::string rings_text(const Advice& advice, const Engine* only) {
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> by_way;  // "at once", and who does so
  for (const Engine& engine : engines()) {
    if (only != nullptr && engine.id != only->id) continue;
    const bool runs_rings = std::ranges::any_of(advice.engines, [&](const auto& entry) {
      const StrategyResult& s = advice.result(entry.first);
      return is_ring(s) && std::ranges::count(entry.second, engine.id) > 0;
    });
    if (!runs_rings || engine.ring.empty()) continue;
    auto way = std::ranges::find(by_way, engine.ring, [](const auto& entry) { return entry.first; });
    if (way == by_way.end()) way = by_way.insert(way, {engine.ring, {}});
    way->second.push_back(engine.title);
  }
  if (by_way.empty()) return "";
  std::string text;
  for (const auto& [how, who] : by_way)
    text += fmt::format("{}{} {} all keys {}", text.empty() ? "" : ", and ", listed(who),
                        who.size() == 1 ? "gathers" : "gather", how);
  return text + ". Times here are of rings that pass them on (docs/engines.md).";
}

}  // namespace spscope
