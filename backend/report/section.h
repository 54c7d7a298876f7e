// Sections: one file and one row of sections.def each. A section fills blocks about one comparison and omits those
// without data.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/analysis/comparison.h"
#include "backend/analysis/mode_group.h"
#include "backend/analysis/pass_picture.h"
#include "backend/report/document.h"

namespace spscope {

// What sections are made of.
struct SectionInput {
  const Comparison& comparison;
  const PassPicture* picture = nullptr;  // of its slowest layer pass; nullptr: none
};

struct SectionRow {
  std::string_view name, title;
  void (*fill)(const SectionInput&, Section&);
};

std::span<const SectionRow> report_sections();
// REQUIRES: a name of sections.def.
Section make_section(std::string_view name, const SectionInput& input);

// -- shared by sections

// "Memory: ring r8 fits only with the VAE elsewhere, with 5.1 GiB to spare; ... It needs 34.1 of 80 GiB, ... It needs
// the most of all."; "" where memory is not limited or not known. `named`: whose need comes first, in place of the
// largest. `how`: behind that it fits, by which flags it does.
std::string memory_line(std::span<const StrategyResult* const> strategies, const StrategyResult* named = nullptr,
                        const std::string& how = "");

// Of strategies that give some ranks more heads than others, one line for each degree: "ulysses u4 gives 2 ranks 8 of
// the 30 heads and 2 ranks 7, which engines that need equal shares refuse."
std::vector<std::string> uneven_heads_notes(const Workload& workload,
                                            std::span<const StrategyResult* const> strategies);
// Whether a strategy is one of them.
bool has_uneven_heads(const Workload& workload, const StrategyResult& strategy);

// "422-562 ms": the makespan at both ends of what hosts of the network differ in, over `passes`; "" where no range
// concerns it.
std::string range_text(const StrategyResult& strategy, double passes = 1);

// "executed", "projected", "simulated"
std::string_view mode_word(RunMode mode);

// Whether a part of a time shows in the three digits that times are printed with.
bool shows_in(double part_ns, std::int64_t whole_ns);

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

// The parts of a makespan for charts. Late peer, wire and other are modelled where the network is, compute where
// compute is.
std::vector<StackedBars::Part> time_parts(const StrategyResult& strategy);

// From the makespan of one strategy to that of another by the parts in which they differ, means over ranks, which add
// up exactly. A step is modelled where either of its times is. Absent where one has no times, or none that are divided.
std::optional<Waterfall> waterfall(const StrategyResult& from, const StrategyResult& to);

// Notes that the column "end to end", where there is one, is of attention alone, where that was the scope.
void note_attention_alone(Table& table, const Workload& workload);

// Removes the columns, except the first, whose cells are all empty: dashes, zeros, empty texts.
void drop_empty_columns(Table& table);
void drop_column(Table& table, std::string_view heading);  // if there is one
// Removes the column of this heading when all its cells have the same text as those of the column `as`, spreads apart.
void drop_if_same(Table& table, std::string_view heading, std::string_view as);

}  // namespace spscope
