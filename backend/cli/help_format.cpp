#include "backend/cli/help_format.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "backend/base/number_text.h"
#include "backend/config/environment.h"

namespace spscope {

int terminal_columns() {
  winsize size = {};
  const bool is_terminal = isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_terminal && size.ws_col > 0 ? size.ws_col : kMostColumns;
}

int text_width() { return std::clamp(terminal_columns(), kLeastColumns, kMostColumns); }

TerminalStyle terminal_style(bool color) {
  const int columns = columns_asked_for();
  return {.color = color,
          .width = text_width(),
          .table_width = std::max(columns > 0 ? columns : terminal_columns(), kLeastColumns)};
}

std::string hanging_text(std::string_view name, std::string_view text, int from, int width) {
  constexpr int kLeastText = 24, kGap = 2;  // columns
  const std::string indent(static_cast<std::size_t>(from), ' ');
  std::string out(name);
  // A name that reaches into the text has a line of its own.
  if (display_width(out) + kGap > from)
    out += "\n" + indent;
  else
    out.resize(out.size() + static_cast<std::size_t>(from - display_width(out)), ' ');
  std::istringstream lines(wrapped_text(text, std::max(kLeastText, width - from)));
  bool first = true;
  for (std::string line; std::getline(lines, line); first = false) out += (first ? "" : "\n" + indent) + line;
  return out + "\n";
}

std::string wrapped_paragraphs(const std::string& text, int width) {
  std::istringstream lines(text);
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped_text(paragraph, width);
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ') {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    out += line + "\n";
  }
  end_paragraph();
  return out;
}

}  // namespace spscope
