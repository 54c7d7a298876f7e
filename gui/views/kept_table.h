// KeptTable: a table of any number of rows that does not change, its rows in the order that was asked for last, and its
// text on the way to the clipboard. Of many rows both are made by workers, so that no frame waits for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/session/query_slot.h"
#include "gui/ui/table_view.h"

namespace spscope::gui {

class KeptTable {
 public:
  static constexpr std::size_t kManyRows = 10'000;
  KeptTable(std::shared_ptr<const Table> table, Workers& workers);
  TableHit draw(Ui& ui, std::string_view name, TableState& state, TableOptions options = {});

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

}  // namespace spscope::gui
