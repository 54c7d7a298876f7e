// The table on the screen: a bar of tools, headings, and the rows that can be seen.
#include "gui/ui/table_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backend/report/format.h"
#include "backend/report/metrics.h"

namespace spscope::gui {
namespace {

// Rows whose cells are measured for the widths of columns: of more, the first ones speak for all.
constexpr std::size_t kMeasuredRows = 200;

Face face_of(const Cell& cell, bool best) {
  if (cell.hint != Hint::kText && cell.hint != Hint::kVerdict) return Face::kMono;
  return best ? Face::kBold : Face::kBody;
}

struct Layout {
  std::vector<int> columns;  // that are shown
  std::vector<float> left, width;
  float total = 0;
};

Layout layout_of(Ui& ui, const Table& table, const TableState& state, float available) {
  Layout layout;
  const float gap = ui.px(18);
  std::vector<float> wanted;
  for (int c = 0; c < static_cast<int>(table.columns.size()); ++c) {
    const Column& column = table.columns[static_cast<std::size_t>(c)];
    if (state.hidden.contains(column.heading)) continue;
    float widest = ui.text_width(column.heading, Face::kSmall) + ui.px(16);
    for (std::size_t r = 0; r < std::min(table.rows.size(), kMeasuredRows); ++r) {
      const Row& row = table.rows[r];
      if (static_cast<std::size_t>(c) >= row.cells.size()) continue;
      const Cell& cell = row.cells[static_cast<std::size_t>(c)];
      widest = std::max(widest, ui.text_width(shown(joined(cell_text(cell))), face_of(cell, row.best)));
    }
    layout.columns.push_back(c);
    wanted.push_back(std::min(widest, ui.px(column.left ? 420 : 260)) + gap);
  }
  const float sum = std::accumulate(wanted.begin(), wanted.end(), 0.0F);
  float x = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    layout.left.push_back(x);
    // What is left over is shared, as far as that does not tear a row apart.
    const float spare = std::max(0.F, available - sum) / static_cast<float>(wanted.size());
    const float width = wanted[i] + std::min(spare, ui.px(36));
    layout.width.push_back(width);
    x += width;
  }
  layout.total = std::max(x, available);
  return layout;
}

void copy(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns, CopyFormat format) {
  ImGui::SetClipboardText(copied_text(table, rows, columns, format).c_str());
}

bool copy_menu(Ui& ui, const Table& table, const TableState& state, const std::vector<int>& rows,
               const std::vector<int>& columns, const TableOptions& options) {
  bool open = true;
  const bool one = state.selected >= 0;
  for (int f = 0; f < 4; ++f) {
    const auto format = static_cast<CopyFormat>(f);
    const std::string name = kCopyFormatNames[f];
    if (one && ui.button("row " + name, "Copy row as " + name, {.quiet = true, .width = ui.px(210), .left = true})) {
      copy(table, {state.selected}, columns, format);
      open = false;
    }
    if (ui.button("all " + name, "Copy all as " + name, {.quiet = true, .width = ui.px(210), .left = true})) {
      (options.copy ? options.copy(rows, columns, format) : copy(table, rows, columns, format));
      open = false;
    }
  }
  return open;
}

void columns_menu(Ui& ui, const Table& table, TableState& state) {
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    const std::string& heading = table.columns[c].heading;
    bool visible = !state.hidden.contains(heading);
    if (!ui.checkbox(heading, heading.empty() ? "(no heading)" : heading, visible)) continue;
    if (visible) {
      state.hidden.erase(heading);
    } else {
      state.hidden.insert(heading);
    }
  }
}

// The caption, and a button behind which all tools are.
void caption(Ui& ui, const Table& table, TableState& state, const std::vector<int>& rows,
             const std::vector<int>& columns, const TableOptions& options) {
  if (options.tools == Tools::kShown) {
    if (!table.caption.empty()) ui.text(table.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    return;
  }
  const bool filtered = rows.size() < table.rows.size();
  const std::string label = filtered ? fmt::format("{} of {} rows", rows.size(), table.rows.size()) : "Table…";
  // At the right end, where it is in nobody's way.
  const float left = ImGui::GetCursorPosX(), button = ui.text_width(label) + ui.px(17);
  const float room = std::max(ui.px(80), ui.width_left() - button - ui.px(8));
  if (!table.caption.empty()) {
    ui.text(table.caption, {.face = Face::kSmall, .ink = Token::kMuted, .max_width = room, .beside = true});
    ImGui::SameLine(0, 0);
  }
  ImGui::SetCursorPosX(left + room + ui.px(8));
  if (ui.button("tools", label, {.quiet = true, .selected = filtered, .tooltip = "Filter rows, hide columns, copy"}))
    ui.open_popup("tools menu");
  ui.popup("tools menu", [&] {
    ui.field("filter", state.filter, {.width = ui.px(210), .hint = "Filter rows"});
    if (!copy_menu(ui, table, state, rows, columns, options)) return false;
    ui.text("Columns", {.face = Face::kBold, .ink = Token::kMuted});
    columns_menu(ui, table, state);
    return true;
  });
}

void tools(Ui& ui, const Table& table, TableState& state, const std::vector<int>& rows, const std::vector<int>& columns,
           const TableOptions& options) {
  ui.field("filter", state.filter, {.width = std::min(ui.px(220), ui.width_left() * 0.4F), .hint = "Filter rows"});
  ui.same_line();
  if (ui.button("columns", "Columns", {.quiet = true})) ui.open_popup("columns menu");
  ui.popup("columns menu", [&] {
    columns_menu(ui, table, state);
    return true;
  });
  ui.same_line();
  if (ui.button("copy", "Copy", {.quiet = true})) ui.open_popup("copy menu");
  ui.popup("copy menu", [&] { return copy_menu(ui, table, state, rows, columns, options); });
  ui.same_line();
  const bool all = rows.size() == table.rows.size();
  const char* const unit = table.rows.size() == 1 ? "row" : "rows";
  ui.text(
      all ? fmt::format("{} {}", rows.size(), unit) : fmt::format("{} of {} {}", rows.size(), table.rows.size(), unit),
      {.face = Face::kSmall, .ink = Token::kMuted, .beside = true});
}

void headings(Ui& ui, const Table& table, TableState& state, const Layout& layout) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = ui.px(28);
  ui.fill({from.x, from.y, from.x + layout.total, from.y + height}, ui.color(Token::kRaised));
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const int c = layout.columns[i];
    const Column& column = table.columns[static_cast<std::size_t>(c)];
    const Rect rect{from.x + layout.left[i], from.y, from.x + layout.left[i] + layout.width[i], from.y + height};
    const bool sorted = state.sort == c;
    const Hit hit =
        ui.target("sort " + column.heading, rect,
                  {.kind = "button", .text = column.heading, .tooltip = metric_tip(column), .selected = sorted});
    if (hit.hovered) ui.fill(rect, ui.color(Token::kHover));
    if (hit.clicked) {
      if (!sorted) {
        state.sort = c;
        state.descending = !column.left;
      } else if (state.descending == !column.left) {
        state.descending = !state.descending;
      } else {
        state.sort = -1;
      }
    }
    const float padding = ui.px(6), arrow = sorted ? ui.px(12) : 0;
    const std::optional<Rgb> behind = ui.theme().color(hit.hovered ? Token::kHover : Token::kRaised);
    ui.text_at(rect.left + padding, rect.top + ui.px(7), column.heading,
               {.face = Face::kSmall,
                .ink = Token::kMuted,
                .max_width = rect.width() - 2 * padding - arrow,
                .right = !column.left},
               behind);
    if (!sorted) continue;
    const float x = rect.right - ui.px(9), y = rect.top + height / 2, s = ui.px(4) * (state.descending ? 1.0F : -1.0F);
    ui.draw_list().AddTriangleFilled({x - ui.px(4), y - s / 2}, {x + ui.px(4), y - s / 2}, {x, y + s / 2},
                                     ui.color(Token::kMuted));
  }
  ImGui::Dummy({layout.total, height});
}

void draw_row(Ui& ui, const Table& table, TableState& state, const Layout& layout, int row, const TableOptions& options,
              TableHit& result) {
  const Row& content = table.rows[static_cast<std::size_t>(row)];
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = ui.px(28);
  const Rect rect{from.x, from.y, from.x + layout.total, from.y + height};
  const std::string label = content.cells.empty() ? "" : joined(cell_text(content.cells.front()));
  const Hit hit =
      ui.target(fmt::format("row {} {}", row, label), rect,
                {.kind = "row", .text = label, .tooltip = options.row_tooltip, .selected = state.selected == row});
  Token behind = ui.back();
  if (content.best) behind = Token::kBest;
  if (state.selected == row) behind = Token::kSelected;
  if (hit.hovered) behind = Token::kHover;
  if (behind != ui.back()) ui.fill(rect, ui.color(behind));
  if (hit.hovered) result.hovered = row;
  if (hit.clicked) {
    state.selected = row;
    result.clicked = row;
  }
  if (hit.double_clicked) result.activated = row;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const auto c = static_cast<std::size_t>(layout.columns[i]);
    if (c >= content.cells.size()) continue;
    const Cell& cell = content.cells[c];
    const float padding = ui.px(6);
    const Token ink = content.aside ? Token::kMuted : cell.text == "failed" ? Token::kWarn : Token::kInk;
    ui.text_at(rect.left + layout.left[i] + padding, rect.top + ui.px(6), joined(cell_text(cell)),
               {.face = face_of(cell, content.best),
                .ink = ink,
                .max_width = layout.width[i] - 2 * padding,
                .right = !table.columns[c].left},
               ui.theme().color(behind));
    const Rect place{rect.left + layout.left[i], rect.top, rect.left + layout.left[i] + layout.width[i], rect.bottom};
    if (hit.right_clicked && place.holds(ImGui::GetMousePos().x, ImGui::GetMousePos().y))
      ImGui::SetClipboardText(joined(cell_text(cell)).c_str());
  }
  ui.fill({rect.left, rect.bottom - 1, rect.right, rect.bottom}, ui.color(Token::kRule));
  ImGui::Dummy({layout.total, height});
}

}  // namespace

std::string metric_tip(const Column& column) {
  if (column.metric.empty()) return {};
  for (const Definition& d : metrics())
    if (d.id == column.metric) return d.title + ": " + d.meaning;
  return {};
}

TableHit show_rows(Ui& ui, std::string_view name, const Table& table, const std::vector<int>& rows, TableState& state,
                   const TableOptions& options) {
  const Ui::Scope inside = ui.scope(name);
  TableHit result;
  const float available = ui.width_left() - ui.theme().px(16);
  const Layout layout = layout_of(ui, table, state, available);
  caption(ui, table, state, rows, layout.columns, options);
  if (options.tools == Tools::kShown) tools(ui, table, state, rows, layout.columns, options);
  if (state.selected >= 0 && state.selected < static_cast<int>(table.rows.size()) && ui.take_copy())
    copy(table, {state.selected}, layout.columns, CopyFormat::kTsv);
  const float row_height = ui.px(28);
  const float all =
      row_height * static_cast<float>(rows.size() + 1) + (layout.total > available + 1 ? ui.px(16) : 0) + 2;
  const float height = options.height > 0   ? options.height
                       : options.height < 0 ? all
                                            : std::max(3 * row_height, ui.height_left());
  ui.pane("rows",
          {.height = std::min(height, options.height == 0 ? height : std::max(all, row_height * 2)),
           .back = ui.back(),
           .padded = false,
           .scroll_x = layout.total > available + 1},
          [&] {
            // A shorter list is looked at from its top: what the longer one had there is gone.
            if (rows.size() < std::exchange(state.rows, rows.size())) {
              ImGui::SetScrollY(0);
              ui.again();
            }
            ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
            headings(ui, table, state, layout);
            ImGuiListClipper clipper;
            clipper.Begin(static_cast<int>(rows.size()), row_height);
            while (clipper.Step())
              for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
                draw_row(ui, table, state, layout, rows[static_cast<std::size_t>(i)], options, result);
            ImGui::PopStyleVar();
          });
  for (const Table::Note& note : table.notes) ui.note(note.text);
  return result;
}

TableHit show_table(Ui& ui, std::string_view name, const Table& table, TableState& state, const TableOptions& options) {
  return show_rows(ui, name, table,
                   sorted_rows(table, filtered_rows(table, state.filter), state.sort, state.descending), state,
                   options);
}

}  // namespace spscope::gui
