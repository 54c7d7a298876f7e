// RowFilter: which rows of a timeline are shown: "0-7, 12", "node 1", "node 0-1, 30". A row is shown when any part
// holds it; without a part all are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/base/result.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

struct RowFilter {
  struct Range {
    int first = 0, last = 0;
    bool of_nodes = false;
  };
  std::vector<Range> ranges;

  // `node`: below 0 when it is not known.
  bool holds(int rank, int node) const;
};

// The error says which part is none.
Result<RowFilter> parse_row_filter(std::string_view text);

// The field of a filter. While its text is none, what was typed before holds, and the reason stands beside it.
class RowFilterField {
 public:
  void draw(Ui& ui);
  const RowFilter& filter() const { return filter_; }

 private:
  std::string text_, problem_;
  RowFilter filter_;
};

enum class RowOrder { kRank, kCompute, kWait, kNode };

// Which rows of ranks a timeline shows, and in which order.
struct RowChoice {
  RowFilterField filter;
  RowOrder order = RowOrder::kRank;
  // Without ranks there is nothing to order by.
  void draw(Ui& ui, bool has_ranks = true);
};

}  // namespace spscope::gui
