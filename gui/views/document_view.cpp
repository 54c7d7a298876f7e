#include "gui/views/document_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <numeric>

#include "backend/base/number_text.h"

namespace spscope::gui {
namespace {

void draw_paragraph(Ui& ui, const Paragraph& p) {
  const float width = std::min(ui.width_left(), ui.px(980));
  switch (p.tone) {
    case Tone::kWarning: ui.banner("warning", BannerTone::kWarning, p.text); return;
    case Tone::kNote: ui.text(p.text, {.ink = Token::kMuted, .max_width = width, .wrap = true}); return;
    case Tone::kConclusion: ui.text(p.text, {.face = Face::kBold, .max_width = width, .wrap = true}); return;
    case Tone::kPlain:
    case Tone::kReason: ui.text(p.text, {.max_width = width, .wrap = true}); return;
  }
}

void draw_badges(Ui& ui, const Badges& badges) {
  for (std::size_t i = 0; i < badges.list.size(); ++i) {
    const Badges::Badge& badge = badges.list[i];
    const float width = ui.text_width(badge.text, Face::kSmall) + ui.px(24);
    if (i > 0) {
      ui.same_line();
      if (ui.width_left() < width) ImGui::NewLine();
    }
    ui.badge(badge.text, badge.modelled ? Token::kModelled : Token::kMeasured,
             badge.modelled ? Token::kModelledBack : Token::kMeasuredBack, badge.modelled, badge.title);
  }
}

void draw_facts(Ui& ui, const Facts& facts) {
  if (!facts.caption.empty()) ui.text(facts.caption, {.face = Face::kBold, .ink = Token::kMuted});
  for (const auto& [name, value] : facts.rows) {
    ui.text(name, {.ink = Token::kMuted, .max_width = ui.px(200)});
    ImGui::SameLine(ui.px(220));
    ui.text(value, {.wrap = true});
  }
  ui.space(6);
}

void draw_definitions(Ui& ui, const Definitions& definitions) {
  for (const Definition& d : definitions.list) {
    ui.text(d.unit.empty() ? d.title : d.title + " (" + d.unit + ")", {.face = Face::kBold});
    ui.text(d.meaning, {.max_width = std::min(ui.width_left(), ui.px(900)), .wrap = true});
    if (!d.not_for.empty())
      ui.text(d.not_for, {.ink = Token::kMuted, .max_width = std::min(ui.width_left(), ui.px(900)), .wrap = true});
    ui.space(4);
  }
}

double total_of(const StackedBars::Bar& bar) { return std::accumulate(bar.parts_ns.begin(), bar.parts_ns.end(), 0.0); }

void bar_tip(Ui& ui, const StackedBars& chart, const StackedBars::Bar& bar) {
  ui.tooltip([&] {
    ui.text(bar.label, {.face = Face::kBold, .max_width = ui.px(360)});
    for (std::size_t i = 0; i < bar.parts_ns.size(); ++i) {
      const StackedBars::Part& part = chart.parts[i];
      ui.text(fmt::format("{}{}: {}", part.name, part.modelled ? " (modelled)" : "", duration_text(bar.parts_ns[i])),
              {.max_width = ui.px(360)});
    }
    ui.text("together: " + duration_text(total_of(bar)), {.max_width = ui.px(360)});
  });
}

}  // namespace

Token part_token(std::size_t part) {
  constexpr Token kTokens[] = {Token::kCompute, Token::kLate, Token::kWire, Token::kOther};
  return kTokens[std::min<std::size_t>(part, 3)];
}
Token on_part_token(std::size_t part) {
  constexpr Token kTokens[] = {Token::kOnCompute, Token::kOnLate, Token::kOnWire, Token::kOnOther};
  return kTokens[std::min<std::size_t>(part, 3)];
}

void draw_time(Ui& ui, const Rect& rect, std::size_t part, bool modelled) {
  if (rect.empty()) return;
  const Token token = part_token(part);
  if (part == 1) {  // waiting: hollow, with dots
    ui.fill(rect, ui.color(token, 0.22F));
    if (rect.width() > ui.px(3)) ui.outline(rect, ui.color(token), 0, std::max(1.F, ui.px(1.2F)));
    const float step = ui.px(5);
    if (rect.width() > ui.px(8))
      for (float x = rect.left + step; x < rect.right - ui.px(2); x += step)
        ui.fill({x, rect.bottom - ui.px(4), x + ui.px(1.6F), rect.bottom - ui.px(2.4F)}, ui.color(token));
    return;
  }
  ui.fill(rect, ui.color(token));
  if (modelled && rect.width() > ui.px(3)) ui.hatch(rect, ui.color(Token::kSurface, 0.28F));
}

void draw_legend(Ui& ui, const StackedBars& chart) {
  for (std::size_t i = 0; i < chart.parts.size(); ++i) {
    const StackedBars::Part& part = chart.parts[i];
    const std::string label = part.name + (part.modelled ? " (modelled)" : "");
    if (i > 0) {
      ui.same_line(16);
      if (ui.width_left() < ui.text_width(label, Face::kSmall) + ui.px(24)) ImGui::NewLine();
    }
    const ImVec2 from = ImGui::GetCursorScreenPos();
    draw_time(ui, {from.x, from.y + ui.px(3), from.x + ui.px(16), from.y + ui.px(15)}, i, part.modelled);
    ImGui::Dummy({ui.px(16), ui.px(16)});
    ui.same_line(6);
    ui.text(label, {.face = Face::kSmall, .ink = Token::kMuted});
  }
  if (chart.mark_ns) {
    ui.same_line(16);
    ui.text("┆ " + chart.mark_label, {.face = Face::kSmall, .ink = Token::kMuted});
  }
}

std::optional<BlockHit> draw_bars(Ui& ui, std::string_view name, const StackedBars& chart) {
  const Ui::Scope inside = ui.scope(name);
  std::optional<BlockHit> result;
  if (!chart.caption.empty()) ui.text(chart.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  double scale = chart.scale_ns;
  float label_width = 0;
  for (const StackedBars::Bar& bar : chart.bars) {
    scale = std::max(scale, total_of(bar));
    label_width = std::max(label_width, ui.text_width(shown(bar.label)));
  }
  if (scale <= 0) return result;
  label_width = std::min(label_width + ui.px(12), ui.width_left() * 0.3F);
  const float value_width = ui.px(90), height = ui.px(26), gap = ui.px(4);
  const float track = std::max(ui.px(60), ui.width_left() - label_width - value_width);
  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    const StackedBars::Bar& bar = chart.bars[b];
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const Rect row{from.x, from.y, from.x + ui.width_left(), from.y + height};
    const Hit hit = ui.target("bar " + bar.label, row,
                              {.kind = "bar", .text = bar.label, .value = fmt::format("{}", total_of(bar))});
    if (hit.hovered) ui.fill(row, ui.color(Token::kHover));
    const std::optional<Rgb> behind = hit.hovered ? std::optional(ui.theme().color(Token::kHover)) : std::nullopt;
    ui.text_at(from.x, from.y + ui.px(4), bar.label, {.max_width = label_width - ui.px(8)}, behind);
    float x = from.x + label_width;
    for (std::size_t p = 0; p < bar.parts_ns.size(); ++p) {
      const float width = static_cast<float>(bar.parts_ns[p] / scale) * track;
      const Rect part{x, from.y + ui.px(4), x + width, from.y + height - ui.px(4)};
      draw_time(ui, part, p, chart.parts[p].modelled);
      ui.mark(fmt::format("part {} {}", bar.label, chart.parts[p].name), part, duration_text(bar.parts_ns[p]), false,
              ui.theme().color(part_token(p)));
      if (hit.clicked && ImGui::GetMousePos().x >= x && ImGui::GetMousePos().x < x + width)
        result = BlockHit{.row = {}, .bar = static_cast<int>(b), .part = static_cast<int>(p), .heading = chart.caption};
      x += width;
    }
    if (chart.mark_ns) {
      const float at = from.x + label_width + static_cast<float>(*chart.mark_ns / scale) * track;
      for (float y = from.y; y < from.y + height; y += ui.px(5))
        ui.fill({at, y, at + std::max(1.F, ui.px(1.5F)), std::min(y + ui.px(3), from.y + height)}, ui.color(Token::kInk));
    }
    ui.text_at(from.x + label_width + track, from.y + ui.px(5), duration_text(total_of(bar)),
               {.face = Face::kMono, .max_width = value_width, .right = true}, behind);
    if (hit.clicked && !result) result = BlockHit{.row = {}, .bar = static_cast<int>(b), .part = {}, .heading = chart.caption};
    if (hit.hovered) bar_tip(ui, chart, bar);
    ImGui::Dummy({row.width(), height + gap});
  }
  draw_legend(ui, chart);
  ui.space(6);
  return result;
}

std::optional<BlockHit> DocumentView::draw(Ui& ui, std::string_view name, const Block& block) {
  const Ui::Scope inside = ui.scope(name);
  if (const auto* p = std::get_if<Paragraph>(&block)) draw_paragraph(ui, *p);
  if (const auto* b = std::get_if<Badges>(&block)) draw_badges(ui, *b);
  if (const auto* f = std::get_if<Facts>(&block)) draw_facts(ui, *f);
  if (const auto* d = std::get_if<Definitions>(&block)) draw_definitions(ui, *d);
  if (const auto* l = std::get_if<Listing>(&block)) {
    ui.text(l->caption, {.face = Face::kBold, .ink = Token::kMuted});
    ui.text(l->text, {.face = Face::kMono, .wrap = true});
  }
  if (const auto* chart = std::get_if<StackedBars>(&block)) return draw_bars(ui, "chart", *chart);
  if (const auto* table = std::get_if<Table>(&block)) {
    const TableHit hit = show_table(ui, "table", *table, tables_[ui.path()], {.filter = table->rows.size() > 12, .height = -1});
    if (hit.clicked) return BlockHit{.row = hit.clicked, .bar = {}, .part = {}, .heading = table->caption};
  }
  return std::nullopt;
}

}  // namespace spscope::gui
