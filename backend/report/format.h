// How numbers read: three significant digits and a unit, the same in every renderer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/report/document.h"

namespace spscope {

// "61.2 ms", "812 ns", "4,120 s"
std::string duration_text(double ns);
// "339 MB"; 1 MB is 10^6 bytes.
std::string bytes_text(double num_bytes);
// "75,600"
std::string count_text(double count);
// "5.0 %"; one decimal below 10 %.
std::string percent_text(double fraction);
// "1.355"
std::string ratio_text(double ratio);

// What a cell shows: the value, and apart from it what follows the value ("±0.4"), so that tables can align both.
struct CellText {
  std::string value, suffix;
};
CellText cell_text(const Cell& cell);
// "61.2 ms ±0.4"
std::string joined(const CellText& text);

// As a sentence of its own: a capital at its start and a full stop at its end.
std::string sentence(std::string text);

// Columns that UTF-8 text takes on a terminal: its code points.
int display_width(std::string_view utf8);

// Breaks at blanks so that no line is longer than the width, where words allow; each line ends with a line break.
std::string wrapped_text(std::string_view text, int width);

}  // namespace spscope
