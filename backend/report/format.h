// The text of a report's cells, the same in every renderer.
#pragma once

#include <string>

#include "backend/base/number_text.h"
#include "backend/report/document.h"

namespace spscope {

// The text of a cell: the value, and separately its suffix ("±0.4"), so that tables can align both.
struct CellText {
  std::string value, suffix;
};
CellText cell_text(const Cell& cell);
// "61.2 ms ±0.4"
std::string joined(const CellText& text);

}  // namespace spscope
