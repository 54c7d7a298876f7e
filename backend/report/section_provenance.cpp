// How this was made: program, machine, workload, what the parameters of each strategy came out as, and the whole
// config, so that anyone can make it again.
#include <fmt/format.h>

#include "backend/report/format.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

void add_fact(Facts& facts, std::string name, std::string value) {
  if (!value.empty()) facts.rows.emplace_back(std::move(name), std::move(value));
}

Facts workload_facts(const Workload& w) {
  Facts facts{"Workload", {}};
  add_fact(facts, "model", w.model);
  add_fact(facts, "scope", w.scope);
  add_fact(facts, "tokens",
           count_text(static_cast<double>(w.tokens)) +
               (w.text_tokens > 0 ? fmt::format(", {} of them text", w.text_tokens) : ""));
  add_fact(facts, "heads", fmt::format("{} x {} channels, {}", w.heads, w.head_dim, w.dtype));
  add_fact(
      facts, "mask",
      fmt::format("{}, density {:.3f}, {} blocks", w.pattern, w.density, count_text(static_cast<double>(w.blocks))));
  add_fact(facts, "ran",
           fmt::format("{} of {} layers, {} denoise step{}, batch {}", w.layers, w.model_layers, w.denoise_steps,
                       w.denoise_steps == 1 ? "" : "s", w.batch));
  add_fact(facts, "cluster",
           fmt::format("{}: {} rank{} on {} node{}", w.cluster, w.ranks, w.ranks == 1 ? "" : "s", w.nodes,
                       w.nodes == 1 ? "" : "s"));
  return facts;
}

// "0-3 | 4-7": groups of ranks, runs shortened; at most a handful.
std::string groups_text(const std::vector<std::vector<int>>& groups) {
  constexpr std::size_t kMostGroups = 8;
  std::string text;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g == kMostGroups) return text + fmt::format(" | ... {} groups", groups.size());
    if (g > 0) text += " | ";
    for (std::size_t i = 0; i < groups[g].size();) {
      std::size_t j = i;
      while (j + 1 < groups[g].size() && groups[g][j + 1] == groups[g][j] + 1) ++j;
      text += (i > 0 ? "," : "") + std::to_string(groups[g][i]);
      if (j > i) text += (j == i + 1 ? "," : "-") + std::to_string(groups[g][j]);
      i = j + 1;
    }
  }
  return text.empty() ? "–" : text;
}

Table strategy_table(const Comparison& comparison) {
  Table table;
  table.caption = "What the parameters came out as";
  table.columns = {{"strategy", "", true},       {"id", "", true},          {"ulysses"}, {"ring"},
                   {"ulysses groups", "", true}, {"ring groups", "", true}, {"repeats"}, {"planning", "planning"}};
  for (const StrategyResult& s : comparison.strategies) {
    if (!s.legal) continue;
    table.rows.push_back(
        {{text_cell(s.label), text_cell(s.id), cell(Hint::kCount, s.ulysses), cell(Hint::kCount, s.ring),
          text_cell(groups_text(s.ulysses_groups)), text_cell(groups_text(s.ring_groups)),
          cell(Hint::kCount, s.repeats), duration_cell(s.planning_ns)}});
  }
  return table;
}

}  // namespace

void fill_provenance(const Comparison& comparison, Section& section) {
  Facts made{"Made with", {}};
  add_fact(made, "spscope", comparison.tool_version);
  add_fact(made, "at", comparison.created_utc);
  add_fact(made, "config hash", comparison.config_hash);
  for (const MachineLine& line : comparison.machine) add_fact(made, line.name, line.value);
  section.blocks.push_back(std::move(made));
  section.blocks.push_back(workload_facts(comparison.workload));
  if (Table table = strategy_table(comparison); !table.rows.empty()) section.blocks.push_back(std::move(table));
  if (!comparison.workload.config_toml.empty())
    section.blocks.push_back(Listing{"The config, every default filled in", comparison.workload.config_toml});
  if (!comparison.workload.cluster_toml.empty())
    section.blocks.push_back(Listing{"The numbers of the cluster", comparison.workload.cluster_toml});
}

}  // namespace spscope
