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
  const Comparison* of;
  std::vector<const StrategyResult*> strategies;
};
std::vector<ModeGroup> by_mode(const Comparison& comparison);

// "executed", "projected", "simulated"
std::string_view mode_word(RunMode mode);

// Mean of a list by rank; absent when it is empty.
std::optional<double> mean(std::span<const std::int64_t> by_rank);

// The rank with most compute or, without times, most tiles, over the layers and denoise steps that ran.
struct Slowest {
  std::optional<int> rank;  // slowest in more than half of them; absent when it varies
  int times = 0, of = 0;    // in how many of them it is that rank
  double excess = 0;        // of the slowest rank of each over the mean of its ranks, averaged: 0.31
};
// Absent when neither times nor tiles are known.
std::optional<Slowest> slowest(const StrategyResult& strategy);
// "rank 2", "varies", "–"
std::string slowest_text(const StrategyResult& strategy);

bool oversubscribed(const StrategyResult& strategy);

// The parts of a makespan for charts. What a schedule decided is modelled: late peer, wire and other where the network
// is, compute where compute is.
std::vector<StackedBars::Part> time_parts(const StrategyResult& strategy);

// Takes out the columns, but not the first, whose cells all say that there is nothing: dashes, zeros, empty texts.
void drop_empty_columns(Table& table);
// Takes out the column of this heading when all its cells read as those of the column `as`.
void drop_if_same(Table& table, std::string_view heading, std::string_view as);

}  // namespace spscope
