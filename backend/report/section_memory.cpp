// Memory and the whole model: the memory of each rank, and the time of a whole generation extrapolated from the layers
// that ran.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/trust.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

// What an end-to-end time is the time of: "End to end: attention of a whole generation (40 layers x 50 denoise steps x
// 2 forward passes)".
std::string whole_generation(const Workload& w) {
  const bool whole = w.scope == "layer";
  return fmt::format("End to end: {} of a whole generation ({} layer{} x {} denoise steps x {} forward pass{})",
                     whole ? "all layers" : "attention", w.model_layers, w.model_layers == 1 ? "" : "s",
                     w.model_denoise_steps.value_or(1), w.forward_passes, w.forward_passes == 1 ? "" : "es");
}

}  // namespace

void fill_memory(const Comparison& comparison, Section& section) {
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    Table table;
    bool any_end_to_end = false;
    const Workload& workload = comparison.workload;
    table.columns = {text_column("strategy"),
                     {"peak of a rank", "memory_peak"},
                     {"mean peak", "memory_peak"},
                     {"weights, all ranks", "parameters"},
                     {"end to end", "end_to_end"}};
    for (const StrategyResult* s : group.strategies) {
      if (!s->legal() || s->memory_peak_bytes.empty()) continue;
      // No end-to-end time when compute is that of another machine than the cluster.
      const auto end_to_end_ns = foreign_compute(*s, workload) ? std::nullopt : s->end_to_end_ns;
      any_end_to_end = any_end_to_end || end_to_end_ns;
      const auto largest = static_cast<double>(*std::ranges::max_element(s->memory_peak_bytes));
      table.rows.push_back(
          {{text_cell(s->label), cell(Hint::kBytes, largest), cell(Hint::kBytes, mean(s->memory_peak_bytes)),
            cell(Hint::kBytes, s->parameter_bytes), duration_cell(end_to_end_ns)}});
    }
    if (groups.size() > 1) table.caption = mode_word(group.mode);
    if (any_end_to_end) table.caption += (table.caption.empty() ? "" : ". ") + whole_generation(workload);
    drop_if_same(table, "mean peak", "peak of a rank");
    drop_empty_columns(table);
    if (!table.rows.empty()) section.blocks.push_back(std::move(table));
  }
}

}  // namespace spscope
