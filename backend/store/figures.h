// The figures that figures.def has a row for. Columns of the store, figures of several layer passes and seeds, JSON,
// CSV, definitions, the last columns of tables and the figures of the window's map follow from the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spscope {

enum class FigureColumn { kStored, kNullable, kComputed };
enum class FigurePlace { kPlaced, kLast };
// How a figure of several layer passes, or of several seeds, follows from theirs.
enum class Combine { kOwn, kSum, kMean, kMax };

// Words of figures.def; `column` and `place` of a figure by rank are kComputed and kPlaced.
struct FigureRow {
  std::string_view name, unit;
  FigureColumn column;
  Combine passes, seeds;
  FigurePlace place;
  std::string_view title, text;

  bool is_stored() const { return column != FigureColumn::kComputed; }
  bool is_last() const { return place == FigurePlace::kLast; }
};

// Of a layer pass or of a strategy; absent where nothing that it is computed from was planned, run or kept.
struct RunFigures {
  using INTEGER = std::int64_t;
  using REAL = double;
#define FIGURE(name, type, ...) std::optional<type> name = {};
#include "backend/store/figures.def"
};

// visit(row, of), where of(figures) is the one of the row.
template <typename Visit>
void for_each_figure(Visit&& visit) {
#define FIGURE(name, type, unit, column, passes, seeds, place, title, text, not_for)                                \
  visit(                                                                                                            \
      FigureRow{#name, unit, FigureColumn::k##column, Combine::k##passes, Combine::k##seeds, FigurePlace::k##place, \
                title, text},                                                                                       \
      [](auto& figures) -> auto& { return figures.name; });
#include "backend/store/figures.def"
}

// visit(row, of), where of(figures) is the list by rank of RankFigures (analysis/strategy_result.h).
template <typename Visit>
void for_each_rank_figure(Visit&& visit) {
#define RANK_FIGURE(name, member, unit, passes, seeds, title, text, not_for)                                       \
  visit(                                                                                                           \
      FigureRow{#name, unit, FigureColumn::kComputed, Combine::k##passes, Combine::k##seeds, FigurePlace::kPlaced, \
                title, text},                                                                                      \
      [](auto& figures) -> auto& { return figures.member; });
#include "backend/store/figures.def"
}

}  // namespace spscope
