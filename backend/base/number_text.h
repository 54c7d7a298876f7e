// Numbers and sentences as text, the same in every output: three significant digits and a unit.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// "61.2 ms", "812 ns", "4,120 s"
std::string duration_text(double ns);
// "±0.4": with as many decimals as the duration it belongs to, and in its unit.
std::string duration_spread_text(double ns, double spread_ns);
// "339 MB"; 1 MB is 10^6 bytes. Of what is sent.
std::string bytes_text(double num_bytes);
// "29.3 GiB"; 1 GiB is 2^30 bytes. Of what memory holds.
std::string binary_bytes_text(double num_bytes);
// "75,600"
std::string count_text(double count);
// "5.0 %"; one decimal below 10 %.
std::string percent_text(double fraction);
// "1.355"
std::string ratio_text(double ratio);
// "2.0", "0.30000000000000004": the shortest text that reads back as the same number, and shows that it is a real.
std::string real_text(double value);

// The text with an initial capital and a full stop.
std::string sentence(std::string text);

// Columns that UTF-8 text takes on a terminal, counted as its code points: wide and combining characters are not.
int display_width(std::string_view utf8);

// Breaks at blanks so that no line is longer than the width, where words allow; each line ends with a line break. Those
// that the text has, and all else that is not printable (printable.h), are replaced.
std::string wrapped_text(std::string_view given, int width);

}  // namespace spscope
