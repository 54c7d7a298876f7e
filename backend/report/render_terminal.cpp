// Terminal text: aligned columns that fit the width, colour only beside words that say the same.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/printable.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/render.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

constexpr std::string_view kBold = "\033[1m", kYellow = "\033[33m", kRed = "\033[31m", kDim = "\033[2m",
                           kReset = "\033[0m";
constexpr int kGap = 2;  // blanks between columns

std::string painted(const std::string& text, std::string_view code, const TerminalStyle& style) {
  return style.color && !code.empty() ? std::string(code) + text + std::string(kReset) : text;
}

std::string padded(const std::string& text, int width, bool left) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return left ? text + blanks : blanks + text;
}

// A table as text with the widths of its columns.
struct Grid {
  std::vector<std::vector<CellText>> rows;  // one text a column
  std::vector<int> value_width, suffix_width;
  int width(std::size_t column) const { return value_width[column] + suffix_width[column]; }
};

// The best row of a table is marked, in text as in colour.
std::string row_mark(const Table& table, const Row& row) {
  if (std::ranges::none_of(table.rows, &Row::best)) return "";
  return row.best ? "* " : "  ";
}

Grid lay_out(const Table& table) {
  Grid grid;
  const std::size_t columns = table.columns.size();
  grid.value_width.assign(columns, 0);
  grid.suffix_width.assign(columns, 0);
  for (const Row& row : table.rows) {
    std::vector<CellText> texts(columns);
    for (std::size_t c = 0; c < std::min(columns, row.cells.size()); ++c) {
      texts[c] = cell_text(row.cells[c]);
      texts[c].value = (c == 0 ? row_mark(table, row) : "") + printable_line(texts[c].value);
      if (!texts[c].suffix.empty()) texts[c].suffix.insert(0, " ");
      grid.value_width[c] = std::max(grid.value_width[c], display_width(texts[c].value));
      grid.suffix_width[c] = std::max(grid.suffix_width[c], display_width(texts[c].suffix));
    }
    grid.rows.push_back(std::move(texts));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const int missing = display_width(printable_line(table.columns[c].heading)) - grid.width(c);
    grid.value_width[c] += std::max(0, missing);
  }
  return grid;
}

int width_of(const Grid& grid, std::span<const std::size_t> columns) {
  int sum = -kGap;
  for (const std::size_t c : columns) sum += grid.width(c) + kGap;
  return sum;
}

// Names that leave no room for the columns that matter end in an ellipsis.
void shorten_names(Grid& grid, const std::vector<std::size_t>& kept, int width) {
  constexpr int kShortest = 16;
  const int total = width_of(grid, kept);
  const int room = std::max(kShortest, grid.value_width[0] - (total - width));
  if (total <= width || grid.value_width[0] <= room) return;
  for (auto& row : grid.rows) {
    std::string& name = row[0].value;
    if (display_width(name) <= room) continue;
    while (display_width(name) > room - 1) {
      while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0xc0u) == 0x80u) name.pop_back();
      name.pop_back();
    }
    name += "…";
  }
  grid.value_width[0] = room;
}

// What a reader would miss without a word.
std::string hidden_columns(const Table& table, const std::vector<std::size_t>& kept, const TerminalStyle& style) {
  const std::string names = printable_line(hidden_headings(table, kept));
  if (names.empty()) return "";
  return wrapped_text(
      fmt::format("No room in {} columns for: {}. The variable COLUMNS sets the width.", style.table_width, names),
      style.width);
}

// The notes of a table, where the columns that they speak of are shown; and what the mark means.
std::string notes_below(const Table& table, const std::vector<std::size_t>& kept, const TerminalStyle& style) {
  std::string text;
  if (std::ranges::any_of(table.rows, &Row::best)) text += "* " + table.best_is + '\n';
  const auto shown = [&](const std::string& heading) {
    return std::ranges::any_of(kept, [&](std::size_t c) { return table.columns[c].heading == heading; });
  };
  std::string notes;
  for (const Table::Note& note : table.notes)
    if (std::ranges::all_of(note.headings, shown)) notes += wrapped_text(note.text, style.width);
  return notes.empty() ? text : text + '\n' + notes;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

std::string_view row_code(const Row& row) {
  for (const Cell& cell : row.cells)
    if (cell.hint == Hint::kVerdict && cell.text == "failed") return kRed;
  return row.best ? kBold : row.aside ? kDim : std::string_view();
}

struct BlockText {
  const TerminalStyle& style;

  std::string operator()(const Paragraph& p) const {
    std::string text = wrapped_text(printable_line(p.text), style.width);
    if (p.tone != Tone::kWarning) return text;
    text.pop_back();
    return painted(text, kYellow, style) + '\n';
  }
  std::string operator()(const Table& table) const { return render_terminal(table, style); }
  std::string operator()(const Facts& facts) const {
    std::string text = facts.caption.empty() ? "" : printable_line(facts.caption) + '\n';
    int width = 0;
    for (const auto& [name, value] : facts.rows) width = std::max(width, display_width(name));
    for (const auto& [name, value] : facts.rows)
      text += fmt::format("{}  {}\n", padded(printable_line(name), width, true), printable_line(value));
    return text;
  }
  // Badges are the headline's right half; charts, listings and definitions are for pages.
  std::string operator()(const Badges&) const { return ""; }
  std::string operator()(const StackedBars&) const { return ""; }
  std::string operator()(const Waterfall&) const { return ""; }
  std::string operator()(const TimelineBands&) const { return ""; }
  std::string operator()(const HeadGrid&) const { return ""; }
  std::string operator()(const Listing&) const { return ""; }
  std::string operator()(const Definitions&) const { return ""; }
};

std::string headline(const Comparison& comparison, const TerminalStyle& style) {
  const std::string left = printable_line(workload_line(comparison.workload, executes(comparison)));
  std::string right;
  for (const ModeGroup& group : by_mode(comparison))
    if (const std::string line = provenance_line(group); !line.empty())
      right += (right.empty() ? "" : "; ") + printable_line(line);
  constexpr int kMostColumns = 100;
  const int width = std::min(style.width, kMostColumns);
  const bool one_line = display_width(left) + 3 + display_width(right) <= width;
  std::string text = wrapped_text(left, width);
  text.pop_back();
  text = painted(text, kBold, style);
  if (one_line && !right.empty())
    text += " | " + right + '\n';
  else
    text += '\n' + (right.empty() ? "" : wrapped_text(right, width));
  for (const Sentence& warning : headline_warnings(comparison))
    text += BlockText{style}(paragraph(warning, Tone::kWarning));
  return text;
}

// What stands last is read first at a prompt: warnings and conclusions of a mode go behind its table. Badges begin a
// mode.
std::vector<const Block*> terminal_order(const Section& section) {
  std::vector<const Block*> order, last;
  const auto flush = [&] {
    order.insert(order.end(), last.begin(), last.end());
    last.clear();
  };
  for (const Block& block : section.blocks) {
    const auto* paragraph = std::get_if<Paragraph>(&block);
    if (std::holds_alternative<Badges>(block)) flush();
    const bool closing = paragraph && (paragraph->tone == Tone::kConclusion || paragraph->tone == Tone::kReason ||
                                       paragraph->tone == Tone::kWarning);
    (closing ? last : order).push_back(&block);
  }
  flush();
  return order;
}

}  // namespace

std::string render_terminal(const Table& table, const TerminalStyle& style) {
  Grid grid = lay_out(table);
  const std::vector<std::size_t> kept = columns_with_room(
      table, [&](std::span<const std::size_t> columns) { return width_of(grid, columns) <= style.table_width; });
  if (!table.columns.empty() && table.columns[0].left) shorten_names(grid, kept, style.table_width);
  const std::string gap(kGap, ' ');
  std::string text = table.caption.empty() ? "" : printable_line(table.caption) + '\n', line;
  for (std::size_t c : kept)
    line += (line.empty() ? "" : gap) +
            padded(printable_line(table.columns[c].heading), grid.width(c), table.columns[c].left);
  trim_right(line);
  text += painted(line, kDim, style) + '\n';
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    line.clear();
    for (std::size_t c : kept) {
      const CellText& cell = grid.rows[r][c];
      line += (c == kept.front() ? "" : gap) + padded(cell.value, grid.value_width[c], table.columns[c].left) +
              padded(cell.suffix, grid.suffix_width[c], true);
    }
    trim_right(line);
    text += painted(line, row_code(table.rows[r]), style) + '\n';
  }
  return text + hidden_columns(table, kept, style) + notes_below(table, kept, style);
}

std::string render_terminal(const Section& section, const TerminalStyle& style) {
  std::string text;
  const Paragraph* last = nullptr;
  for (const Block* block : terminal_order(section)) {
    const std::string part = std::visit(BlockText{style}, *block);
    if (part.empty()) continue;
    // Paragraphs of one tone stand together, everything else is set apart.
    const auto* paragraph = std::get_if<Paragraph>(block);
    const auto group = [](Tone tone) { return tone == Tone::kReason ? Tone::kConclusion : tone; };
    const bool together = paragraph && last && group(paragraph->tone) == group(last->tone);
    if (!text.empty() && !together) text += '\n';
    text += part;
    last = paragraph;
  }
  return text;
}

std::string render_terminal(const Comparison& comparison, const TerminalStyle& style) {
  return headline(comparison, style) + '\n' + render_terminal(make_section("summary", {comparison}), style);
}

}  // namespace spscope
