// TableView: a table of a report (backend/report/document.h) on the screen: sorted by any column, filtered by words,
// columns hidden, rows selected and copied. Only the rows that can be seen are drawn.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/report/document.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

enum class CopyFormat { kTsv, kCsv, kMarkdown, kJson };
inline constexpr const char* kCopyFormatNames[] = {"TSV", "CSV", "Markdown", "JSON"};

// The table as text for other programs: of these rows and columns, in their order. Numbers in base units (ns, bytes)
// in CSV and JSON; as shown in TSV and Markdown.
std::string copied_text(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns,
                        CopyFormat format);

// Rows in the order of a column, those without a value last; equal ones stay in order.
std::vector<int> sorted_rows(const Table& table, std::vector<int> rows, int column, bool descending);
// Those in which every word of the filter is in some cell, whatever the case. Throws Error (kCancelled).
std::vector<int> filtered_rows(const Table& table, const std::string& filter, const CancelToken& cancelled = {});

// The definition of what a column shows; "" where there is none.
std::string metric_tip(const Column& column);

struct TableState {
  int sort = -1;  // column; -1: as given
  bool descending = false;
  std::string filter;
  std::set<std::string> hidden;  // headings
  int selected = -1;             // row of the table
  std::size_t rows = 0;          // that the last frame showed
};

// The field that filters, the columns and what copies: in a line of their own, or behind a button of the table's
// caption.
enum class Tools { kShown, kFolded };

struct TableOptions {
  Tools tools = Tools::kShown;
  float height = 0;  // 0: what is left of the pane; below 0: as high as its rows
  std::string_view row_tooltip = {};
  // Copies rows and columns in place of the clipboard; absent: the clipboard takes them at once.
  std::function<void(const std::vector<int>& rows, const std::vector<int>& columns, CopyFormat)> copy = {};
};

struct TableHit {
  std::optional<int> clicked, activated, hovered;  // rows of the table, whatever the order on the screen
};

TableHit show_table(Ui& ui, std::string_view name, const Table& table, TableState& state,
                    const TableOptions& options = {});
// The same with rows in an order that is kept by the caller (gui/views/kept_table.h).
TableHit show_rows(Ui& ui, std::string_view name, const Table& table, const std::vector<int>& rows, TableState& state,
                   const TableOptions& options = {});

}  // namespace spscope::gui
