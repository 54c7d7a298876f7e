// How text looks on a terminal and in --help: descriptions break below themselves, paragraphs fit the width, examples
// stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

inline constexpr int kMostColumns = 120;  // no text is set wider, whatever the terminal

// Columns of the terminal that standard output is, within 60 and 120; 120 where it is none.
int text_width();

// "name      text" with the text from the column `from` on, broken so that it fits.
std::string hanging_text(std::string_view name, std::string_view text, int from, int width);

// The long text of a command: lines that begin with a blank are examples and stay, the others are joined to paragraphs
// and broken to the width.
std::string wrapped_paragraphs(const std::string& text, int width);

}  // namespace spscope
