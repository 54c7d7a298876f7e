// How this was made: program, machine, workload, the resolved parameters of each strategy, and the whole config, so
// that the run can be repeated.
#include <fmt/format.h>

#include <algorithm>

#include "backend/report/format.h"
#include "backend/report/headline.h"
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
  add_fact(facts, "heads", fmt::format("{} x {} channels, {}", w.heads, w.head_dim, dtype_name(w.dtype)));
  add_fact(facts, "mask",
           fmt::format("{}, {}{} blocks", w.pattern, w.density ? fmt::format("density {:.3f}, ", *w.density) : "",
                       count_text(static_cast<double>(w.blocks))));
  add_fact(facts, "ran",
           fmt::format("{}{} of {} layers, {} denoise step{}, batch {}",
                       w.interrupted() ? fmt::format("{} of the {} layer passes of ", count_text(*w.layer_passes_done),
                                                     count_text(w.layer_passes()))
                                       : "",
                       w.layers, w.model_layers, w.denoise_steps, w.denoise_steps == 1 ? "" : "s", w.batch));
  add_fact(facts, "cluster",
           fmt::format("{}: {} rank{} on {} node{}", w.cluster, w.ranks, w.ranks == 1 ? "" : "s", w.nodes,
                       w.nodes == 1 ? "" : "s"));
  return facts;
}

// "0-3 | 4-7": groups of ranks, runs shortened; "8 groups of 2" for more than a handful, "0,4,8,12 | ... 4 groups" for
// what is too long otherwise.
std::string groups_text(const std::vector<std::vector<int>>& groups) {
  constexpr std::size_t kMostGroups = 4;
  const bool alone = std::ranges::all_of(groups, [](const auto& group) { return group.size() == 1; });
  const bool equal = std::ranges::all_of(groups, [&](const auto& group) { return group.size() == groups[0].size(); });
  if ((alone && groups.size() > 1) || (equal && groups.size() > kMostGroups))
    return fmt::format("{} groups of {}", groups.size(), groups[0].size());
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
  constexpr std::size_t kMostCharacters = 36;  // that a column of the page has room for
  if (text.size() > kMostCharacters && groups.size() > 1)
    return text.substr(0, text.find(" | ")) + fmt::format(" | ... {} groups", groups.size());
  return text.empty() ? "–" : text;
}

Cell degree_cell(int degree) { return degree > 0 ? cell(Hint::kCount, degree) : text_cell("–"); }

Table strategy_table(const Comparison& comparison) {
  Table table;
  table.caption = "Parameters as resolved";
  table.columns = {text_column("strategy"),       text_column("id"),          {"ulysses"},      {"ring"},
                   text_column("ulysses groups"), text_column("ring groups"), {"layer passes"}, {"repeats"},
                   {"planning", "planning"}};
  for (const StrategyResult& s : comparison.strategies) {
    if (!s.legal()) continue;
    for (std::size_t i = 0; i < s.meshes.size(); ++i) {
      const RankMesh& mesh = s.meshes[i];
      table.rows.push_back(
          {{text_cell(s.label), text_cell(s.id), degree_cell(mesh.ulysses), degree_cell(mesh.ring),
            text_cell(groups_text(mesh.ulysses_groups)), text_cell(groups_text(mesh.ring_groups)),
            cell(Hint::kCount, s.passes_of_mesh(i)), cell(Hint::kCount, s.repeats), duration_cell(s.planning_ns)}});
    }
  }
  return table;
}

// "160 GB/s", or "" for what is not known.
std::string rate(double value, const char* unit) { return value > 0 ? fmt::format("{:.4g} {}", value, unit) : ""; }

// The numbers behind modelled times.
Facts cluster_facts(const Comparison& comparison) {
  const ClusterFigures& c = *comparison.cluster;
  Facts facts{"Numbers of " + device_name(comparison.workload.cluster), {}};
  add_fact(facts, "dense bf16 peak", rate(c.device_tflops, "TFLOP/s"));
  add_fact(facts, "GPU", c.gpu);
  const std::string kernel = c.attention_kernel.empty() ? "" : c.attention_kernel + ", ";
  add_fact(facts, "attention kernel", kernel + rate(c.attention_tflops, "TFLOP/s") + ", " + c.compute_from);
  add_fact(facts, "implementation", c.implementation);
  add_fact(facts, "memory", rate(c.memory_gbps, "GB/s"));
  add_fact(facts, "link of a rank", rate(c.link_gbps, "GB/s one way") + ", " + c.network_from);
  if (comparison.workload.nodes > 1) add_fact(facts, "network of a node", rate(c.nic_gbps, "GB/s one way"));
  return facts;
}

// Nothing when everything was recorded and nothing went wrong.
Facts recording_facts(const Recording& recording) {
  Facts facts{"Recording", {}};
  add_fact(facts, "missing", missing_events_text(recording));
  for (std::size_t i = 0; i < recording.incidents.size(); ++i)
    add_fact(facts, i == 0 ? "first cause" : "then", recording.incidents[i].text);
  return facts;
}

bool nothing_timed(const Comparison& comparison) {
  return std::ranges::all_of(comparison.strategies, [](const StrategyResult& s) {
    return !s.provenance || s.provenance->compute == Source::kModelled;
  });
}

}  // namespace

void fill_provenance(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  Facts made{"Made with", {}};
  add_fact(made, "spscope", comparison.tool_version);
  add_fact(made, "at", comparison.created_utc);
  add_fact(made, "config hash", comparison.config_hash);
  section.blocks.push_back(std::move(made));
  if (Facts facts = recording_facts(comparison.recording); !facts.rows.empty())
    section.blocks.push_back(std::move(facts));
  section.blocks.push_back(workload_facts(comparison.workload));
  if (comparison.cluster) section.blocks.push_back(cluster_facts(comparison));
  Facts machine{nothing_timed(comparison) ? "Written on, where nothing was timed" : "Timed on", {}};
  for (const MachineLine& line : comparison.machine) add_fact(machine, line.name, line.value);
  if (!machine.rows.empty()) section.blocks.push_back(std::move(machine));
  if (Table table = strategy_table(comparison); !table.rows.empty()) section.blocks.push_back(std::move(table));
  if (!comparison.workload.config_toml.empty())
    section.blocks.push_back(Listing{"The config, every default filled in", comparison.workload.config_toml});
  if (!comparison.workload.cluster_toml.empty())
    section.blocks.push_back(Listing{"The numbers of the cluster", comparison.workload.cluster_toml});
}

}  // namespace spscope
