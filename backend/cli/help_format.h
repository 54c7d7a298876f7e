// How text looks on a terminal and in --help: descriptions break below themselves, paragraphs fit the width, examples
// stay as they are.
#pragma once

#include <string>
#include <string_view>

#include "backend/report/render.h"

namespace spscope {

inline constexpr int kLeastColumns = 60, kMostColumns = 120;  // no text is set narrower or wider, whatever the terminal

// Columns of the terminal that standard output is; 120 where it is none.
int terminal_columns();
// Columns of the terminal that standard output is, within 60 and 120; 120 where it is none.
int text_width();

// For standard output. Tables are as wide as the terminal, at least 60 columns, and 120 where there is none; the
// environment variable COLUMNS says another width.
TerminalStyle terminal_style(bool color);

// "name      text" with the text from the column `from` on, broken so that it fits.
std::string hanging_text(std::string_view name, std::string_view text, int from, int width);

// The long text of a command: lines that begin with a blank are examples and stay, the others are joined to paragraphs
// and broken to the width.
std::string wrapped_paragraphs(const std::string& text, int width);

}  // namespace spscope
