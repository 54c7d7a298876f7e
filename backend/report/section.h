// Sections: one file and one row of sections.def each. A section says what it has to say about one comparison; what it
// does not know it leaves out.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/analysis/comparison.h"
#include "backend/report/document.h"

namespace spscope {

struct SectionRow {
  std::string_view name, title;
  void (*fill)(const Comparison&, Section&);
};

std::span<const SectionRow> report_sections();
// REQUIRES: a name of sections.def.
Section make_section(std::string_view name, const Comparison& comparison);

// -- what sections share

// The strategies of each mode that occurs, in stored order: figures of different modes never stand in one table.
struct ModeGroup {
  RunMode mode;
  std::vector<const StrategyResult*> strategies;
};
std::vector<ModeGroup> by_mode(const Comparison& comparison);

// "executed", "projected", "simulated"
std::string_view mode_word(RunMode mode);

// Mean of a list by rank; absent when it is empty.
std::optional<double> mean(std::span<const std::int64_t> by_rank);
// The rank that computes longest, or without times the one with most tiles; absent when neither is known.
std::optional<int> slowest_rank(const StrategyResult& strategy);
// The fastest legal strategy whose outputs are not wrong and whose times compare; nullptr when there is none.
const StrategyResult* fastest(const ModeGroup& group);
bool oversubscribed(const StrategyResult& strategy);

}  // namespace spscope
