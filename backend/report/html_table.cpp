// Tables of a page. Where the window is too narrow for one, each of its rows becomes a small card: the first cell
// above, the others below it with the headings of their columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "backend/report/format.h"
#include "backend/report/html.h"
#include "backend/report/metrics.h"

namespace spscope {
namespace {

constexpr std::size_t kLongText = 60;  // cells above it may break their lines

// Windows below one of these widths, in px, show a table of the class stack-WIDTH as cards. Paper is narrower by its
// font; A4 and Letter, 717 and 739 px inside their margins, show every table as one.
constexpr std::array<int, 6> kStackBelow = {420, 500, 640, 860, 960, 1180};
constexpr int kShownPx = 15, kPrintedPx = 11;

int longest_word(std::string_view text) {
  int longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

// The width of a window in which these columns of the table fit, about, in px.
double window_width(const Table& table, std::span<const std::size_t> columns) {
  // Of the style for windows of up to 1160 px.
  constexpr double kCharacter = 8, kCellPadding = 9, kTextPadding = 14, kMargins = 75;
  double width = kMargins;
  for (const std::size_t c : columns) {
    double widest = kCharacter * longest_word(table.columns[c].heading);
    for (const Row& row : table.rows) {
      if (c >= row.cells.size()) continue;
      const int length = display_width(joined(cell_text(row.cells[c])));
      widest = std::max(widest, kCharacter * std::min(length, static_cast<int>(kLongText)));
    }
    width += widest + kCellPadding + (c > 0 && table.columns[c].left ? kTextPadding : 0);
  }
  return width;
}

std::string stack_class(double needed) {
  for (const int below : kStackBelow)
    if (needed <= below) return fmt::format("stack-{}", below);
  return fmt::format("stack-{}", kStackBelow.back());
}

std::string heading_cell(const Column& column) {
  const std::string name = html_escaped(column.heading);
  const std::string title = metric_title(column.metric);
  const std::string inner = title.empty() ? name
                                          : fmt::format("<a href=\"#metric-{}\" title=\"{}\">{}</a>",
                                                        html_escaped(column.metric), html_escaped(title), name);
  return fmt::format("<th scope=\"col\"{}>{}</th>", column.left ? " class=\"left\"" : "", inner);
}

std::string cell_class(const Column& column, const Cell& cell) {
  std::string names = column.left ? "left" : "";
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : " ") + name; };
  if (cell.hint == Hint::kVerdict) add(html_escaped(cell.text));
  if (cell.text.size() > kLongText) add("long");
  return names.empty() ? "" : " class=\"" + names + "\"";
}

std::string table_row(const Table& table, const Row& row, std::span<const std::size_t> columns) {
  const char* kind = row.best ? " class=\"best\"" : row.aside ? " class=\"aside\"" : "";
  std::string text = fmt::format("<tr{}{}>", kind, html_subject(row.of));
  for (const std::size_t c : columns) {
    const Cell cell = c < row.cells.size() ? row.cells[c] : text_cell("");
    const CellText shown = cell_text(cell);
    const std::string number = cell.number ? fmt::format(" data-v=\"{}\"", *cell.number) : "";
    text += fmt::format("<td{}{} data-column=\"{}\">{}", cell_class(table.columns[c], cell), number,
                        html_escaped(table.columns[c].heading), html_escaped(shown.value));
    if (!shown.suffix.empty()) text += " <span class=\"spread\">" + html_escaped(shown.suffix) + "</span>";
    if (row.best && c == 0) text += "<span class=\"tag\">" + html_escaped(table.best_is) + "</span>";
    text += "</td>";
  }
  return text + "</tr>\n";
}

}  // namespace

std::string html_table(const Table& table) {
  const std::vector<std::size_t> columns =
      columns_with_room(table, [&](auto some) { return window_width(table, some) <= kStackBelow.back(); });
  const std::string style = stack_class(window_width(table, columns)), hidden = hidden_headings(table, columns);
  std::string text = fmt::format("<div class=\"scroll\"><table class=\"{}\">", style);
  if (!table.caption.empty()) text += "<caption>" + html_escaped(table.caption) + "</caption>";
  text += "<thead><tr>";
  for (const std::size_t c : columns) text += heading_cell(table.columns[c]);
  text += "</tr></thead>\n<tbody>";
  for (const Row& row : table.rows) text += table_row(table, row, columns);
  text += "</tbody></table></div>\n";
  return hidden.empty() ? text : text + fmt::format("<p>No room for: {}.</p>\n", html_escaped(hidden));
}

std::string html_table_style() {
  // The choice to sort cards by stands before a table, and only where that is shown as cards.
  constexpr std::string_view kStacked = R"css(@media screen and (max-width: {0}px), print and (max-width: {2}px) {{
  .stack-{1} thead {{ display: none; }}
  .sort-by:has(+ .stack-{1}) {{ display: flex; }}
  .stack-{1}, .stack-{1} caption, .stack-{1} tbody {{ display: block; }}
  .stack-{1} tr {{
    display: grid; grid-template-columns: repeat(auto-fill, minmax(5.4rem, 1fr)); gap: .3rem .75rem; padding: .6rem .5rem;
    border-bottom: 1px solid var(--rule);
  }}
  .stack-{1} tr:last-child {{ border-bottom: 0; }}
  .stack-{1} tr.best {{ background: var(--best); }}
  .stack-{1} td {{ padding: 0; border: 0; text-align: left; white-space: normal; }}
  .stack-{1} td::before {{
    content: attr(data-column); display: block; color: var(--muted); font-size: .74rem; font-weight: 400;
  }}
  .stack-{1} td:first-child, .stack-{1} td.long {{ grid-column: 1 / -1; padding: 0; }}
  .stack-{1} td.left:first-child {{ font-weight: 600; }}
  .stack-{1} td.left:first-child::before, .stack-{1} td:empty {{ display: none; }}
  .stack-{1} .tag {{ display: inline; }}
}}
)css";
  std::string style;
  for (const int below : kStackBelow)
    style += fmt::format(fmt::runtime(kStacked), below - 1, below, below * kPrintedPx / kShownPx - 1);
  return style;
}

}  // namespace spscope
