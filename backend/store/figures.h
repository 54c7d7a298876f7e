// The figures that figures.def has a row for. Columns of the store, figures of several layer passes and seeds, JSON,
// CSV and the last columns of tables follow from the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// What tokens of a row stand for.
#define SPSCOPE_FIGURE_INTEGER std::int64_t
#define SPSCOPE_FIGURE_REAL double

namespace spscope {

enum class FigureColumn { kStored, kNullable, kComputed };
// How a figure of several layer passes, or of several seeds, follows from theirs.
enum class Combine { kOwn, kSum, kMean, kMax };

struct FigureRow {
  std::string_view name;
  FigureColumn column;
  Combine passes, seeds;
  std::string_view text, heading = "", not_for = "";

  bool is_stored() const { return column != FigureColumn::kComputed; }
  bool is_last() const { return !heading.empty(); }  // in tables and CSV
};

// Of a layer pass or of a strategy; absent where nothing that it is computed from was planned, run or kept.
struct RunFigures {
#define FIGURE(name, type, ...) std::optional<SPSCOPE_FIGURE_##type> name = {};
#define RANK_FIGURE(...)
#include "backend/store/figures.def"
#undef FIGURE
};

// visit(row, of), where of(figures) is the one of the row.
template <typename Visit>
void for_each_figure(Visit&& visit) {
#define FIGURE(name, type, column, passes, seeds, text, heading, not_for)                                       \
  visit(                                                                                                        \
      FigureRow{#name, FigureColumn::k##column, Combine::k##passes, Combine::k##seeds, text, heading, not_for}, \
      [](auto& figures) -> auto& { return figures.name; });
#include "backend/store/figures.def"
#undef FIGURE
#undef RANK_FIGURE
}

// visit(row, of), where of(result) is the list by rank of a StrategyResult.
template <typename Visit>
void for_each_rank_figure(Visit&& visit) {
#define FIGURE(...)
#define RANK_FIGURE(name, member, seeds, text)                                           \
  visit(                                                                                 \
      FigureRow{#name, FigureColumn::kComputed, Combine::kOwn, Combine::k##seeds, text}, \
      [](auto& result) -> auto& { return result.member; });
#include "backend/store/figures.def"
#undef FIGURE
#undef RANK_FIGURE
}

}  // namespace spscope
