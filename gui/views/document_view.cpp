#include "gui/views/document_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "backend/analysis/reason.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/views/timeline/time_part.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

// From this width on, in the design's pixels, sentences stand beside bars.
constexpr float kBesideBars = 820;
// Of charts of more bars or rows only those near what can be seen are drawn.
constexpr std::size_t kAllDrawn = 64;
bool is_far(const Ui& ui, const Rect& rect) {
  const Rect seen = ui.clip();
  return rect.bottom < seen.top - seen.height() || rect.top > seen.bottom + seen.height();
}

std::optional<Subject> draw_paragraph(Ui& ui, const Paragraph& p) {
  const float width = std::min(ui.width_left(), ui.px(980));
  switch (p.tone) {
    case Tone::kWarning:
      ui.banner("warning", BannerTone::kWarning, p.text);
      return std::nullopt;
    case Tone::kNote:
      return draw_sentence(ui, "note", p.text, p.mentions, {.ink = Token::kMuted, .max_width = width});
    case Tone::kConclusion:
      return draw_sentence(ui, "conclusion", p.text, p.mentions, {.face = Face::kBold, .max_width = width});
    case Tone::kPlain:
    case Tone::kReason:
      return draw_sentence(ui, "words", p.text, p.mentions, {.max_width = width});
  }
  return std::nullopt;
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
      ui.text("Not for: " + d.not_for,
              {.ink = Token::kMuted, .max_width = std::min(ui.width_left(), ui.px(900)), .wrap = true});
    ui.space(4);
  }
}

void bar_tip(Ui& ui, const StackedBars& chart, const StackedBars::Bar& bar) {
  ui.tooltip([&] {
    ui.text(bar.label, {.face = Face::kBold, .max_width = ui.px(360)});
    for (std::size_t i = 0; i < bar.parts_ns.size(); ++i) {
      const StackedBars::Part& part = chart.parts[i];
      ui.text(fmt::format("{}{}: {}", part.name, part.modelled ? " (modelled)" : "", duration_text(bar.parts_ns[i])),
              {.max_width = ui.px(360)});
    }
    ui.text("together: " + duration_text(bar.total_ns()), {.max_width = ui.px(360)});
  });
}

}  // namespace

Token part_token(std::size_t part) {
  constexpr Token kTokens[] = {Token::kCompute, Token::kLate,     Token::kWire,       Token::kOther,
                               Token::kKernel,  Token::kCopy,     Token::kMemset,     Token::kSynchronize,
                               Token::kApi,     Token::kOverhead, Token::kAnnotation, Token::kMuted};
  return part < std::size(kTokens) ? kTokens[part] : Token::kOther;
}
Token on_part_token(std::size_t part) {
  constexpr Token kTokens[] = {Token::kOnCompute, Token::kOnLate, Token::kOnWire, Token::kOnOther};
  return part < std::size(kTokens) ? kTokens[part] : Token::kOnDevice;
}

Token part_edge_token(std::size_t part) { return part == 3 ? Token::kEdge : part_token(part); }

void draw_time(Ui& ui, const Rect& rect, std::size_t part, bool modelled) {
  if (rect.empty()) return;
  const Token token = part_token(part);
  if (is_wait(static_cast<TimePart>(part))) {  // hollow, with dots where somebody was late
    ui.fill(rect, ui.color(token, 0.22F));
    if (rect.width() > ui.px(3)) ui.outline(rect, ui.color(token), 0, std::max(1.F, ui.px(1.2F)));
    const float step = ui.px(5);
    if (static_cast<TimePart>(part) == TimePart::kLatePeer && rect.width() > ui.px(8))
      for (float x = rect.left + step; x < rect.right - ui.px(2); x += step)
        ui.fill({x, rect.bottom - ui.px(4), x + ui.px(1.6F), rect.bottom - ui.px(2.4F)}, ui.color(token));
    return;
  }
  ui.fill(rect, ui.color(token));
  if (part_edge_token(part) != token && rect.width() > ui.px(3)) ui.outline(rect, ui.color(part_edge_token(part)));
  if (modelled && rect.width() > ui.px(3)) ui.hatch(rect, ui.color(Token::kSurface, 0.28F));
}

void draw_legend_part(Ui& ui, std::size_t part, const std::string& label, bool modelled, bool first) {
  if (!first) {
    ui.same_line(16);
    if (ui.width_left() < ui.text_width(label, Face::kSmall) + ui.px(24)) ImGui::NewLine();
  }
  const ImVec2 from = ImGui::GetCursorScreenPos();
  draw_time(ui, {from.x, from.y + ui.px(3), from.x + ui.px(16), from.y + ui.px(15)}, part, modelled);
  ImGui::Dummy({ui.px(16), ui.px(16)});
  ui.same_line(6);
  ui.text(label, {.face = Face::kSmall, .ink = Token::kMuted});
}

void draw_legend(Ui& ui, const StackedBars& chart) {
  for (std::size_t i = 0; i < chart.parts.size(); ++i) {
    const StackedBars::Part& part = chart.parts[i];
    draw_legend_part(ui, i, part.name + (part.modelled ? " (modelled)" : ""), part.modelled, i == 0);
  }
  if (chart.mark_ns) {
    ui.same_line(16);
    ui.text("┆ " + chart.mark_label, {.face = Face::kSmall, .ink = Token::kMuted});
  }
}

std::optional<Subject> draw_bars(Ui& ui, std::string_view name, const StackedBars& chart,
                                 std::span<const Paragraph* const> beside) {
  const Ui::Scope inside = ui.scope(name);
  std::optional<Subject> result;
  if (!chart.caption.empty()) ui.text(chart.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  const double scale = chart.axis_ns();
  if (scale <= 0) return result;
  float label_width = 0;
  for (const StackedBars::Bar& bar : chart.bars) label_width = std::max(label_width, ui.text_width(shown(bar.label)));
  label_width = std::min(label_width + ui.px(12), ui.width_left() * 0.3F);
  const float value_width = ui.px(90), height = ui.px(26), gap = ui.px(4), whole = ui.width_left();
  const bool has_room = whole >= ui.px(kBesideBars);
  const float words = beside.empty() || !has_room ? 0 : whole * 0.46F;
  const float track = std::max(ui.px(60), whole - words - label_width - value_width);
  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    const StackedBars::Bar& bar = chart.bars[b];
    const ImVec2 from = ImGui::GetCursorScreenPos();
    const Rect row{from.x, from.y, from.x + whole - words, from.y + height};
    if (chart.bars.size() > kAllDrawn && is_far(ui, row)) {
      ImGui::Dummy({row.width(), height + gap});
      continue;
    }
    const Hit hit = ui.target("bar " + bar.label, row,
                              {.kind = "bar", .text = bar.label, .value = fmt::format("{}", bar.total_ns())});
    if (hit.hovered) ui.fill(row, ui.color(Token::kHover));
    const std::optional<Rgb> behind = hit.hovered ? std::optional(ui.theme().color(Token::kHover)) : std::nullopt;
    ui.text_at(from.x, from.y + ui.px(4), bar.label, {.max_width = label_width - ui.px(8)}, behind);
    float x = from.x + label_width;
    for (std::size_t p = 0; p < bar.parts_ns.size(); ++p) {
      const float width = static_cast<float>(bar.parts_ns[p] / scale) * track;
      const Rect part{x, from.y + ui.px(4), x + width, from.y + height - ui.px(4)};
      draw_time(ui, part, p, chart.parts[p].modelled);
      ui.mark(fmt::format("part {} {}", bar.label, chart.parts[p].name), part, duration_text(bar.parts_ns[p]), false,
              ui.theme().color(part_edge_token(p)));
      x += width;
    }
    if (chart.mark_ns) {
      const float at = from.x + label_width + static_cast<float>(*chart.mark_ns / scale) * track;
      for (float y = from.y; y < from.y + height; y += ui.px(5))
        ui.fill({at, y, at + std::max(1.F, ui.px(1.5F)), std::min(y + ui.px(3), from.y + height)},
                ui.color(Token::kInk));
    }
    ui.text_at(from.x + label_width + track, from.y + ui.px(5), duration_text(bar.total_ns()),
               {.face = Face::kMono, .max_width = value_width, .right = true}, behind);
    if (hit.clicked) result = bar.of;
    if (hit.hovered) bar_tip(ui, chart, bar);
    const Paragraph* sentence = b < beside.size() ? beside[b] : nullptr;
    float bottom = row.bottom;
    if (sentence != nullptr) {
      const float left = has_room ? row.right + ui.px(14) : from.x + label_width;
      ImGui::SetCursorScreenPos({left, has_room ? from.y + ui.px(2) : row.bottom});
      if (auto subject = draw_sentence(ui, fmt::format("beside {}", bar.label), sentence->text, sentence->mentions,
                                       {.max_width = from.x + whole - left}))
        result = std::move(subject);
      bottom = std::max(bottom, ImGui::GetItemRectMax().y);
      ImGui::SetCursorScreenPos(from);
    }
    ImGui::Dummy({row.width(), bottom - from.y + gap});
  }
  draw_legend(ui, chart);
  ui.space(6);
  return result;
}

std::optional<Subject> draw_sentence(Ui& ui, std::string_view name, std::string_view text,
                                     const std::vector<Mention>& mentions, const TextStyle& style) {
  const Ui::Scope inside = ui.scope(name);
  std::optional<Subject> result;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float right = from.x + (style.max_width > 0 ? style.max_width : ui.width_left()),
              space = ui.text_width(" ", style.face);
  const float line = ui.line_height(style.face);
  float x = from.x, y = from.y;
  // A mention is never broken where it fits in a line; other words are put one after the other.
  const auto put = [&](std::string_view words, const Mention* mention, std::size_t number) {
    const float width = ui.text_width(shown(words), style.face);
    if (x > from.x && x + width > right) {
      x = from.x;
      y += line;
    }
    if (mention == nullptr) {
      ui.text_at(x, y + ui.px(2), words, {.face = style.face, .ink = style.ink, .max_width = right - x + ui.px(2)});
    } else {
      const Hit hit = ui.target(fmt::format("{} {}", words, number), {x, y, x + width, y + std::max(line, ui.px(20))},
                                {.kind = "link", .text = words});
      ui.text_at(x, y + ui.px(2), words,
                 {.face = style.face, .ink = Token::kAccent, .max_width = right - x + ui.px(2)});
      const float under = y + ui.px(2) + ImGui::GetFontSize() + ui.px(1);
      ui.fill({x, under, x + width, under + std::max(1.F, ui.px(hit.hovered ? 2 : 1))},
              ui.color(Token::kAccent, hit.hovered ? 1 : 0.55F));
      if (hit.hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      if (hit.clicked) result = mention->subject;
    }
    x += width;
  };
  const auto put_words = [&](std::string_view words) {
    while (!words.empty()) {
      if (words.front() == ' ') {
        x += space;
        words.remove_prefix(1);
        continue;
      }
      const std::size_t blank = words.find(' ');
      put(words.substr(0, blank), nullptr, 0);
      words.remove_prefix(blank == std::string_view::npos ? words.size() : blank);
    }
  };
  std::size_t done = 0;
  for (std::size_t i = 0; i < mentions.size(); ++i) {
    put_words(text.substr(done, mentions[i].begin - done));
    put(text.substr(mentions[i].begin, mentions[i].end - mentions[i].begin), &mentions[i], i);
    done = mentions[i].end;
  }
  put_words(text.substr(done));
  ImGui::Dummy({right - from.x, y + line - from.y});
  return result;
}

void follow(Session& session, int file, const Subject& subject) {
  if (subject.empty()) return;
  Selection s = session.selection();
  s.op.reset();
  if (!subject.strategy.empty()) s.strategy = StrategyKey{file, subject.strategy};
  if (subject.rank) s.rank = subject.rank;
  if (!subject.rank && !subject.layer && subject.cause.empty()) {
    session.select(s);
    return;
  }
  Link link = session.here();
  link.view = "timeline";
  if (subject.layer) link.scope.layer = subject.layer;
  if (subject.denoise_step) link.scope.step = subject.denoise_step;
  const auto chosen = s.strategy ? session.find(*s.strategy) : std::nullopt;
  if (!subject.cause.empty() && chosen) {
    if (const auto pass = slowest_pass_of(*chosen->strategy)) {
      link.scope.layer = pass->layer;
      link.scope.step = pass->step;
    }
    const auto late = subject.cause == cause_name(Cause::kLateRank) ? late_rank(*chosen->strategy) : std::nullopt;
    s.rank = late ? std::optional(late->rank) : std::nullopt;
  }
  link.selection = s;
  session.go(link);
}

namespace {

std::optional<Subject> draw_waterfall(Ui& ui, const Waterfall& fall) {
  const auto sum = [](const StackedBars::Bar& bar) { return bar.total_ns(); };
  const float label_width = ui.px(190), value_width = ui.px(110), height = ui.px(24);
  const float track = std::max(ui.px(80), ui.width_left() - label_width - value_width);
  const double most = fall.axis_ns();
  if (!fall.caption.empty()) ui.text(fall.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  std::optional<Subject> result;
  const auto row = [&](const std::string& name, double begin, double end, std::optional<std::size_t> part,
                       bool modelled, const std::string& value, const Subject& of) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Hit hit = ui.target(name, {at.x, at.y, at.x + ui.width_left(), at.y + height},
                              {.kind = "bar", .text = name, .value = value});
    ui.text_at(at.x, at.y + ui.px(4), name, {.max_width = label_width - ui.px(8)});
    const auto x = [&](double ns) { return at.x + label_width + static_cast<float>(ns / most) * track; };
    const Rect bar{x(std::min(begin, end)), at.y + ui.px(3),
                   std::max(x(std::min(begin, end)) + 1, x(std::max(begin, end))), at.y + height - ui.px(3)};
    if (part) {
      draw_time(ui, bar, *part, modelled);
    } else {
      ui.fill(bar, ui.color(Token::kEdge));
    }
    ui.mark("step " + name, bar, value);
    ui.text_at(at.x + ui.width_left() - value_width, at.y + ui.px(4), value,
               {.face = Face::kMono, .max_width = value_width, .right = true});
    ImGui::Dummy({ui.width_left(), height});
    if (hit.clicked) result = of;
  };
  row(fall.from.label, 0, sum(fall.from), {}, false, duration_text(sum(fall.from)), fall.from.of);
  double reached = sum(fall.from);
  for (const Waterfall::Step& step : fall.steps) {
    if (fall.shows(step))
      row(step.name, reached, reached + step.delta_ns, step.part, step.modelled,
          (step.delta_ns < 0 ? "−" : "+") + duration_text(std::abs(step.delta_ns)), fall.to.of);
    reached += step.delta_ns;
  }
  row(fall.to.label, 0, sum(fall.to), {}, false, duration_text(sum(fall.to)), fall.to.of);
  return result;
}

std::optional<Subject> draw_bands(Ui& ui, const TimelineBands& bands) {
  std::optional<Subject> result;
  if (!bands.caption.empty()) ui.text(bands.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  const TimelineBands::Span axis = bands.axis();
  const float label_width = ui.px(90), track = std::max(ui.px(80), ui.width_left() - label_width - ui.px(8));
  for (const TimelineBands::Band& band : bands.bands) {
    ui.text(band.label + ", " + duration_text(band.length_ns), {.face = Face::kBold});
    for (const TimelineBands::Row& row : band.rows) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float height = band.rows.size() > 16 ? ui.px(4) : ui.px(20);
      const Rect place{at.x, at.y, at.x + label_width + track, at.y + height};
      if (band.rows.size() > kAllDrawn && is_far(ui, place)) {
        ImGui::SetCursorScreenPos({at.x, at.y + height});
        continue;
      }
      const Hit hit = ui.target(band.label + " " + row.label, place,
                                {.kind = "row", .text = row.label, .small = height < ui.px(20)});
      if (height >= ui.px(14))
        ui.text_at(at.x, at.y + ui.px(2), row.label,
                   {.face = Face::kSmall, .ink = Token::kMuted, .max_width = label_width});
      for (const TimelineBands::Span& span : row.spans) {
        if (span.part == 3) continue;
        const auto x = [&](double ns) {
          return at.x + label_width + static_cast<float>((ns - axis.begin_ns) / (axis.end_ns - axis.begin_ns)) * track;
        };
        const float left = x(span.begin_ns), right = x(span.end_ns);
        draw_time(ui, {left, at.y + 1, std::max(left + 1, right), at.y + height - 1}, span.part,
                  bands.parts.size() > span.part && bands.parts[span.part].modelled && height > ui.px(8));
      }
      ImGui::SetCursorScreenPos({at.x, at.y + height});
      if (hit.clicked) result = row.of;
    }
    ui.space(6);
  }
  return result;
}

void draw_heads(Ui& ui, const HeadGrid& grid, std::map<std::string, Texture>& textures) {
  if (!grid.caption.empty()) ui.text(grid.caption, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  const HeadGrid::Step* step = nullptr;
  for (const HeadGrid::Step& s : grid.steps)
    if (step == nullptr || s.chosen) step = &s;
  if (step == nullptr) return;
  ui.text(step->label, {.face = Face::kBold});
  const float side = ui.px(64), gap = ui.px(8);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const int columns = std::max(1, static_cast<int>(ui.width_left() / (side + gap)));
  for (std::size_t h = 0; h < step->heads.size(); ++h) {
    const float x = from.x + static_cast<float>(h % static_cast<std::size_t>(columns)) * (side + gap);
    const float y = from.y + static_cast<float>(h / static_cast<std::size_t>(columns)) * (side + ui.px(22));
    Texture& texture = textures[fmt::format("{} {} {}", ui.path(), step->label, h)];
    if (texture.width() == 0) {
      std::vector<std::uint32_t> texels;
      for (const std::uint8_t c : step->heads[h].cells) {
        const Rgb color = c == 0 ? ui.theme().color(Token::kEmpty) : density_color(c / 255.0);
        texels.push_back(0xff000000u | (color & 0xff) << 16 | (color & 0xff00) | (color >> 16 & 0xff));
      }
      texture.set(HeadGrid::kSide, HeadGrid::kSide, texels, true);
    }
    if (texture.name() != 0) ui.draw_list().AddImage(texture_id(texture.name()), {x, y}, {x + side, y + side});
    ui.text_at(x, y + side + ui.px(2), fmt::format("{}  {}", h, percent_text(step->heads[h].density)),
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = side});
  }
  const std::size_t rows =
      (step->heads.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  ImGui::Dummy({ui.width_left(), static_cast<float>(rows) * (side + ui.px(22))});
}

}  // namespace

std::optional<Subject> DocumentView::draw(Ui& ui, std::string_view name, const Block& block) {
  const Ui::Scope inside = ui.scope(name);
  if (const auto* p = std::get_if<Paragraph>(&block)) return draw_paragraph(ui, *p);
  if (const auto* b = std::get_if<Badges>(&block)) draw_badges(ui, *b);
  if (const auto* f = std::get_if<Facts>(&block)) draw_facts(ui, *f);
  if (const auto* d = std::get_if<Definitions>(&block)) draw_definitions(ui, *d);
  if (const auto* l = std::get_if<Listing>(&block)) {
    ui.text(l->caption, {.face = Face::kBold, .ink = Token::kMuted});
    ui.text(l->text, {.face = Face::kMono, .wrap = true});
  }
  if (const auto* chart = std::get_if<StackedBars>(&block)) return draw_bars(ui, "chart", *chart);
  if (const auto* fall = std::get_if<Waterfall>(&block)) return draw_waterfall(ui, *fall);
  if (const auto* bands = std::get_if<TimelineBands>(&block)) return draw_bands(ui, *bands);
  if (const auto* grid = std::get_if<HeadGrid>(&block)) draw_heads(ui, *grid, heads_);
  if (const auto* table = std::get_if<Table>(&block)) {
    const TableHit hit = show_table(ui, "table", *table, tables_[ui.path()],
                                    {.tools = table->rows.size() > 12 ? Tools::kShown : Tools::kFolded, .height = -1});
    if (hit.clicked) return table->rows[static_cast<std::size_t>(*hit.clicked)].of;
  }
  return std::nullopt;
}

}  // namespace spscope::gui
