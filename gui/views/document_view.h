// Blocks of a report's document (backend/report/document.h) drawn in the window: the same sentences, tables and charts
// as in the page and on the command line.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "backend/report/document.h"
#include "gui/ui/table_view.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

// What was clicked in a block.
struct BlockHit {
  std::optional<int> row;  // of a table
  std::optional<int> bar;  // of a chart
  std::optional<int> part;
  std::string heading;  // of the table's caption, or of the chart
};

class DocumentView {
 public:
  std::optional<BlockHit> draw(Ui& ui, std::string_view name, const Block& block);

 private:
  std::map<std::string, TableState> tables_;
};

// Colour of the part of a makespan by its place: compute, late peer, wire, other.
Token part_token(std::size_t part);
Token on_part_token(std::size_t part);

// A rectangle of time as it is drawn everywhere: modelled ones hatched, late peer as a hollow dotted box.
void draw_time(Ui& ui, const Rect& rect, std::size_t part, bool modelled);
void draw_legend(Ui& ui, const StackedBars& chart);
// Bars of parts, a row each. What was clicked, and what the pointer is over as a tooltip.
std::optional<BlockHit> draw_bars(Ui& ui, std::string_view name, const StackedBars& chart);

}  // namespace spscope::gui
