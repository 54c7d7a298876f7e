// TableView: a table of a report (backend/report/document.h) on the screen: sorted by any column, filtered by words,
// columns hidden, rows selected and copied. Only the rows that can be seen are drawn.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/report/document.h"
#include "gui/session/query_slot.h"
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

// A table that does not change, its rows in the order that was asked for last, and its text on the way to the
// clipboard. Of many rows both are made by workers.
class KeptTable {
 public:
  static constexpr std::size_t kManyRows = 10'000;
  KeptTable(std::shared_ptr<const Table> table, Workers& workers);
  // While another order is being made, the one before; at first all rows as given.
  const std::vector<int>& rows(int sort, bool descending, const std::string& filter);
  void copy(std::vector<int> rows, std::vector<int> columns, CopyFormat format);
  // Text that is ready to be copied, once.
  std::optional<std::string> take_copied();

  const std::shared_ptr<const Table> table;

 private:
  Workers& workers_;
  std::string key_;
  std::vector<int> few_;  // the order; of many rows as they are given
  QuerySlot<std::vector<int>> many_;
  QuerySlot<std::string> text_;
  int copies_ = 0, copied_ = 0;
};

struct TableState {
  int sort = -1;  // column; -1: as given
  bool descending = false;
  std::string filter;
  std::set<std::string> hidden;  // headings
  int selected = -1;             // row of the table
  std::size_t rows = 0;          // that the last frame showed
  std::shared_ptr<KeptTable> kept = {};
};

// The field that filters, the columns and what copies: in a line of their own, or behind a button of the table's
// caption.
enum class Tools { kShown, kFolded };

struct TableOptions {
  Tools tools = Tools::kShown;
  float height = 0;  // 0: what is left of the pane; below 0: as high as its rows
  std::string_view row_tooltip = {};
};

struct TableHit {
  std::optional<int> clicked, activated, hovered;  // rows of the table, whatever the order on the screen
};

TableHit show_table(Ui& ui, std::string_view name, const Table& table, TableState& state,
                    const TableOptions& options = {});
// The same of a table of any number of rows, which does not change.
TableHit show_table(Ui& ui, std::string_view name, const std::shared_ptr<const Table>& table, TableState& state,
                    Workers& workers, const TableOptions& options = {});

}  // namespace spscope::gui
