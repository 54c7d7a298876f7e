// Memory and the whole model: what each rank must hold, and what the measured layers would come to in a whole
// generation.
#include <algorithm>

#include "backend/report/section.h"

namespace spscope {

void fill_memory(const Comparison& comparison, Section& section) {
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    Table table;
    if (groups.size() > 1) table.caption = mode_word(group.mode);
    table.columns = {{"strategy", "", true},
                     {"peak of a rank", "memory_peak"},
                     {"mean peak", "memory_peak"},
                     {"weights, all ranks", "parameters"},
                     {"end to end", "end_to_end"}};
    for (const StrategyResult* s : group.strategies) {
      if (!s->legal || s->memory_peak_bytes.empty()) continue;
      const auto largest = static_cast<double>(*std::ranges::max_element(s->memory_peak_bytes));
      table.rows.push_back(
          {{text_cell(s->label), cell(Hint::kBytes, largest), cell(Hint::kBytes, mean(s->memory_peak_bytes)),
            cell(Hint::kBytes, s->parameter_bytes), duration_cell(s->end_to_end_ns)}});
    }
    if (!table.rows.empty()) section.blocks.push_back(std::move(table));
  }
}

}  // namespace spscope
