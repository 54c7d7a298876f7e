// Memory and the whole model: the memory of each rank, and the time of a whole generation extrapolated from the layers
// that ran.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/equal_plans.h"
#include "backend/analysis/trust.h"
#include "backend/base/number_text.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

constexpr double kBytesOfGib = 1024.0 * 1024 * 1024;

// What an end-to-end time is the time of: "End to end: attention of a whole generation (40 layers x 50 denoise steps x
// 2 forward passes)".
std::string whole_generation(const Workload& w, std::optional<std::int64_t> outside_ns,
                             const std::string& outside_from) {
  const bool whole = w.scope == "layer";
  const int in_turn = w.forward_passes / w.guidance;
  std::string text =
      fmt::format("End to end: {} of a whole generation ({} layer{} x {} denoise steps x {} forward pass{}",
                  whole ? "all layers" : "attention", w.model_layers, w.model_layers == 1 ? "" : "s",
                  w.model_denoise_steps.value_or(1), in_turn, in_turn == 1 ? "" : "es");
  if (w.guidance > 1) text += fmt::format(", {} at once", w.guidance);
  text += ")";
  if (w.layers < w.model_layers)
    text +=
        fmt::format(", from {} of its {} layers; ± is the standard error that this leaves", w.layers, w.model_layers);
  const int samples = w.data_parallel * w.batch;
  if (samples > 1)
    text += fmt::format(". Of {} samples at once, on {} replica{}", samples, w.data_parallel,
                        w.data_parallel == 1 ? "" : "s");
  if (outside_ns)
    text += fmt::format(". {} of it are outside of the layers (text encoder, VAE, saving; {})",
                        duration_text(static_cast<double>(*outside_ns)), outside_from);
  return text;
}

// The time outside of the layers is that of the workload: the same for every strategy that has one.
std::optional<std::int64_t> outside_of(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->end_to_end_ns && s->outside_layers_ns) return s->outside_layers_ns;
  return std::nullopt;
}

// What a rank of the cluster needs, of each strategy its fullest rank.
void add_need(const ModeGroup& group, Section& section) {
  const auto bytes = [](std::int64_t number) { return cell(Hint::kMemory, static_cast<double>(number)); };
  // Parts that only some configs have.
  const auto part = [&](std::int64_t number) { return number > 0 ? bytes(number) : cell(Hint::kMemory, std::nullopt); };
  Table table;
  std::int64_t limit = 0;
  table.columns = {text_column("strategy"), {"fullest", {}}};
  for (const char* part : {"activations", "weights", "text encoder", "other", "staging", "reserved", "needs"})
    table.columns.push_back({part, "memory_need"});
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal() || s->memory_need.ranks.empty()) continue;
    const int rank = s->memory_need.fullest();
    const RankMemory& memory = s->memory_need.ranks[static_cast<std::size_t>(rank)];
    limit = s->memory_need.limit;
    table.rows.push_back({{text_cell(s->label), text_cell(fmt::format("rank {}", rank)), bytes(memory.activations),
                           bytes(memory.weights), part(memory.text_encoder), part(memory.other), bytes(memory.staging),
                           bytes(memory.reserved), bytes(memory.total())}});
  }
  if (table.rows.empty()) return;
  const bool attention = group.of->workload.scope == "attention";
  table.caption = fmt::format("What the fullest rank needs{}{}",
                              limit > 0 ? fmt::format(" of {:.4g} GiB", static_cast<double>(limit) / kBytesOfGib) : "",
                              attention ? "; activations of the attention alone" : "");
  drop_empty_columns(table);
  section.blocks.push_back(std::move(table));
}

}  // namespace

std::string memory_line(std::span<const StrategyResult* const> strategies, const StrategyResult* named,
                        const std::string& how) {
  const StrategyResult* most = nullptr;
  int known = 0;
  const auto largest = [](const StrategyResult& s) {
    return s.memory_need.ranks[static_cast<std::size_t>(s.memory_need.fullest())].total();
  };
  for (const StrategyResult* s : strategies) {
    if (!s->legal() || s->memory_need.ranks.empty() || s->memory_need.limit == 0) continue;
    ++known;
    if (most == nullptr || largest(*s) > largest(*most)) most = s;
  }
  if (most == nullptr) return "";
  const StrategyResult& first = named != nullptr && !named->memory_need.ranks.empty() ? *named : *most;
  const bool is_most = largest(first) == largest(*most);
  const bool encoder = first.memory_need.uncounted.text_encoder > 0, vae = first.memory_need.vae_bytes() > 0;
  std::string verdict = verdict_text(first.memory_need);
  if (!how.empty()) verdict.insert(fit_text(first.memory_need).size(), ". " + how);
  std::string text = fmt::format("Memory: {} {}. {} {}.", own_label(first), verdict,
                                 encoder && vae ? "Without text encoder and VAE it"
                                 : encoder      ? "Without the text encoder it"
                                 : vae          ? "Without the VAE it"
                                                : "It",
                                 memory_sentence(first.memory_need));
  if (is_most) return text + (known > 1 ? " It needs the most of all." : "");
  const bool alone =
      most->memory_need.verdict() == MemoryVerdict::kFitsAlone && first.memory_need.verdict() == MemoryVerdict::kFits;
  return text + fmt::format(" {} needs the most, {:.1f} GiB{}.", own_label(*most),
                            static_cast<double>(largest(*most)) / kBytesOfGib,
                            alone ? ", and fits only with text encoder or VAE elsewhere" : "");
}

void fill_memory(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    Table table;
    bool any_end_to_end = false;
    const Workload& workload = comparison.workload;
    table.columns = {text_column("strategy"),      {"activations, peak", "memory_peak"},
                     {"mean peak", "memory_peak"}, {"weights, all ranks", "parameter"},
                     {"end to end", "end_to_end"}, {"samples an hour", "samples_per_hour"}};
    for (const StrategyResult* s : group.strategies) {
      if (!s->legal() || s->memory_peak_bytes.empty()) continue;
      // No end-to-end time when compute is that of another machine than the cluster.
      const auto end_to_end_ns = foreign_compute(*s, workload) ? std::nullopt : s->end_to_end_ns;
      any_end_to_end = any_end_to_end || end_to_end_ns;
      const auto largest = static_cast<double>(*std::ranges::max_element(s->memory_peak_bytes));
      table.rows.push_back({{text_cell(s->label), cell(Hint::kMemory, largest),
                             cell(Hint::kMemory, mean(s->memory_peak_bytes)), cell(Hint::kMemory, s->parameter_bytes),
                             duration_cell(end_to_end_ns, end_to_end_ns ? s->end_to_end_spread_ns : std::nullopt),
                             cell(Hint::kRatio, end_to_end_ns ? s->samples_per_hour : std::nullopt)}});
    }
    if (groups.size() > 1) table.caption = mode_word(group.mode);
    if (any_end_to_end)
      table.caption +=
          (table.caption.empty() ? "" : ". ") +
          whole_generation(workload, outside_of(group), comparison.cluster ? comparison.cluster->outside_from : "");
    drop_if_same(table, "mean peak", "activations, peak");
    drop_empty_columns(table);
    note_attention_alone(table, workload);
    if (!table.rows.empty()) section.blocks.push_back(std::move(table));
    add_need(group, section);
  }
}

}  // namespace spscope
