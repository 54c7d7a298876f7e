#include "gui/views/balance_map.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "backend/report/format.h"
#include "backend/report/metrics.h"
#include "gui/imgui_compat.h"
#include "gui/views/color_scale.h"

namespace spscope::gui {

// A figure of layer passes that the map shows.
struct MapFigure {
  std::string title;
  std::function<std::optional<double>(const LayerResult&)> value;
  Hint hint;
};

namespace {

// Those that a strategy has from its layer passes, and a definition of.
const std::vector<MapFigure>& map_figures() {
  static const std::vector<MapFigure> figures = [] {
    std::vector<MapFigure> list;
    for_each_figure([&](const FigureRow& row, auto of) {
      if (row.passes == Combine::kOwn || row.title.empty()) return;
      const auto value = [of](const LayerResult& pass) -> std::optional<double> { return of(pass); };
      list.push_back({heading_of(row), value, hint_of(row)});
    });
    return list;
  }();
  return figures;
}

std::string value_text(double value, Hint hint) { return cell_text(cell(hint, value)).value; }

}  // namespace

BalanceMap::BalanceMap()
    : figure_(static_cast<int>(std::ranges::find(map_figures(), "imbalance ratio", &MapFigure::title) -
                               map_figures().begin())) {}

// Layers and denoise steps in order, and what the colours at both ends mean.
struct BalanceMap::Scale {
  std::vector<int> layers, steps;
  double low = 1e300, high = -1e300;
  float side = 0, width = 0, height = 0;
  float left = 0;        // room for the numbers of layers
  bool files = false;    // names of strategies have their file below them
  bool figures = false;  // cells have room for their numbers

  // Of the way from the lowest value to the highest.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0; }
  std::size_t column(int step) const { return index(steps, step); }
  std::size_t row(int layer) const { return index(layers, layer); }
  static std::size_t index(const std::vector<int>& sorted, int value) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  }
};

// Numbers of steps above and of layers at the left, as many as there is room for: the first in any case.
void BalanceMap::draw_numbers(Ui& ui, const Rect& area, const Scale& scale) {
  const float line = ui.line_height(Face::kSmall);
  const auto every = [&](float needed) { return std::max(1, static_cast<int>(std::ceil(needed / scale.side))); };
  const auto number = [&](float x, float y, const std::string& text) {
    ui.text_at(x, y, text,
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.text_width(text, Face::kSmall) + 2});
  };
  const auto widest = fmt::format("{}", scale.steps.back());
  const int across = every(ui.text_width(widest, Face::kSmall) + ui.px(8)), down = every(line);
  for (std::size_t i = 0; i < scale.steps.size(); i += static_cast<std::size_t>(across))
    number(area.left + static_cast<float>(i) * scale.side + ui.px(1), area.top - line - ui.px(1),
           fmt::format("{}", scale.steps[i]));
  for (std::size_t i = 0; i < scale.layers.size(); i += static_cast<std::size_t>(down))
    number(area.left - scale.left,
           area.top + static_cast<float>(i) * scale.side + std::max(0.F, (scale.side - line) / 2),
           fmt::format("{}", scale.layers[i]));
}

// Layers down, denoise steps across, a map a strategy.
void BalanceMap::draw(Ui& ui, Session& session, const std::vector<Chosen>& chosen) {
  const Ui::Scope inside = ui.scope("map");
  std::set<int> layers, steps;
  for (const Chosen& c : chosen)
    for (const LayerResult& l : c.strategy->by_layer) {
      layers.insert(l.layer);
      steps.insert(l.denoise_step);
    }
  if (layers.size() * steps.size() < 2) return;
  std::vector<std::string> titles;
  for (const MapFigure& f : map_figures()) titles.push_back(f.title);
  ui.text("By layer (down) and denoise step (across):",
          {.ink = Token::kMuted, .max_width = ui.px(300), .beside = true});
  ui.same_line();
  ui.choice("figure", titles, figure_, ui.px(210));
  const MapFigure& figure = map_figures()[static_cast<std::size_t>(figure_)];
  Scale scale{{layers.begin(), layers.end()}, {steps.begin(), steps.end()}};
  for (const Chosen& c : chosen)
    for (const LayerResult& l : c.strategy->by_layer)
      if (const auto v = figure.value(l)) {
        scale.low = std::min(scale.low, *v);
        scale.high = std::max(scale.high, *v);
      }
  scale.files = std::ranges::any_of(chosen, [](const Chosen& c) { return c.label != c.strategy->label; });
  scale.left = ui.text_width(fmt::format("{}", scale.layers.back()), Face::kSmall) + ui.px(6);
  // Cells of a few layer passes are as wide as all maps beside each other allow.
  const float beside = ui.width_left() / static_cast<float>(std::max<std::size_t>(1, chosen.size())) - ui.px(18);
  scale.side = std::clamp(ui.px(180) / static_cast<float>(std::max(layers.size(), steps.size())), ui.px(4),
                          std::clamp((beside - scale.left) / static_cast<float>(steps.size()), ui.px(34), ui.px(46)));
  scale.figures = scale.high >= scale.low;
  for (const double end : {scale.low, scale.high})
    scale.figures &= ui.text_width(value_text(end, figure.hint), Face::kSmall) + ui.px(4) <= scale.side;
  scale.width = std::max(scale.left + scale.side * static_cast<float>(steps.size()), ui.px(120));
  scale.height = scale.side * static_cast<float>(layers.size());
  std::erase_if(maps_,
                [&](const auto& row) { return std::ranges::find(chosen, row.first, &Chosen::key) == chosen.end(); });
  const float right = ImGui::GetCursorScreenPos().x + ui.width_left();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0) {
      ui.same_line(18);
      if (ImGui::GetCursorScreenPos().x + scale.width > right) ImGui::NewLine();
    }
    draw_one(ui, session, chosen[i], figure, scale);
  }
  ui.space(4);
  if (scale.high >= scale.low)
    draw_color_scale(ui, figure.title, value_text(scale.low, figure.hint), value_text(scale.high, figure.hint));
}

float BalanceMap::draw_name(Ui& ui, const Chosen& c, const Scale& scale) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float line = ui.px(14);
  ui.text_at(from.x, from.y, c.strategy->label, {.face = Face::kSmall, .max_width = scale.width});
  if (!scale.files) return line;
  ui.text_at(from.x, from.y + line, c.file->name,
             {.face = Face::kSmall, .ink = Token::kMuted, .max_width = scale.width});
  return 2 * line;
}

// The number of a cell in its middle.
void BalanceMap::draw_figure(Ui& ui, const Rect& area, const Scale& scale, const LayerResult& pass,
                             const std::string& text, double value) {
  const float left = area.left + static_cast<float>(scale.column(pass.denoise_step)) * scale.side,
              top = area.top + static_cast<float>(scale.row(pass.layer)) * scale.side,
              width = ui.text_width(text, Face::kSmall);
  const Rgb back = density_color(scale.share(value));
  ui.text_at(left + (scale.side - width) / 2, top + (scale.side - ui.line_height(Face::kSmall)) / 2, text,
             {.face = Face::kSmall, .max_width = width + 1}, back, ink_on(back));
}

// One texture, a texel a layer pass: there may be ten thousands of them.
void BalanceMap::draw_one(Ui& ui, Session& session, const Chosen& c, const MapFigure& figure, const Scale& scale) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float top = from.y + draw_name(ui, c, scale) + ui.px(24), side = scale.side;
  const Rect area{from.x + scale.left, top, from.x + scale.left + side * static_cast<float>(scale.steps.size()),
                  top + scale.height};
  draw_numbers(ui, area, scale);
  const Hit hit = ui.target(fmt::format("map {} {}", c.key.file, c.key.id), area,
                            {.kind = "area", .text = c.label, .small = true, .ring = false});
  const ImVec2 mouse = ImGui::GetMousePos();
  const auto pointed_column = static_cast<std::size_t>(std::max(0.F, (mouse.x - area.left) / side));
  const auto pointed_row = static_cast<std::size_t>(std::max(0.F, (mouse.y - area.top) / side));
  std::vector<std::uint32_t> texels(scale.layers.size() * scale.steps.size(), 0);
  const LayerResult* pointed = nullptr;
  for (const LayerResult& l : c.strategy->by_layer) {
    const auto value = figure.value(l);
    if (!value) continue;
    const std::size_t x = scale.column(l.denoise_step), y = scale.row(l.layer);
    texels[y * scale.steps.size() + x] = Ui::color(density_color(scale.share(*value)));
    if (hit.hovered && x == pointed_column && y == pointed_row) pointed = &l;
    if (!ui.is_dumped()) continue;
    const float left = area.left + static_cast<float>(x) * side, upper = area.top + static_cast<float>(y) * side;
    ui.mark(fmt::format("cell {} {} {} {}", c.key.file, c.key.id, l.layer, l.denoise_step),
            {left, upper, left + side, upper + side}, fmt::format("{}", *value));
  }
  Texture& texture = maps_[c.key];
  texture.set(static_cast<int>(scale.steps.size()), static_cast<int>(scale.layers.size()), texels);
  if (texture.name() != 0)
    ui.draw_list().AddImage(texture_id(texture.name()), {area.left, area.top}, {area.right, area.bottom});
  if (side > ui.px(6)) {
    for (std::size_t i = 1; i < scale.steps.size(); ++i)
      ui.fill({area.left + static_cast<float>(i) * side - 1, area.top, area.left + static_cast<float>(i) * side,
               area.bottom},
              ui.color(Token::kSurface));
    for (std::size_t i = 1; i < scale.layers.size(); ++i)
      ui.fill(
          {area.left, area.top + static_cast<float>(i) * side - 1, area.right, area.top + static_cast<float>(i) * side},
          ui.color(Token::kSurface));
  }
  if (scale.figures)
    for (const LayerResult& l : c.strategy->by_layer)
      if (const auto value = figure.value(l)) draw_figure(ui, area, scale, l, value_text(*value, figure.hint), *value);
  ImGui::Dummy({scale.width, area.bottom - from.y + ui.px(2)});
  if (pointed == nullptr) return;
  ui.tooltip(fmt::format("{}, layer {}, denoise step {}: {} {}", c.label, pointed->layer, pointed->denoise_step,
                         figure.title, value_text(*figure.value(*pointed), figure.hint)));
  if (!hit.clicked) return;
  Link link = session.here();
  link.scope.layer = pointed->layer;
  link.scope.step = pointed->denoise_step;
  link.selection.strategy = c.key;
  link.view = "timeline";
  session.go(link);
}

Json BalanceMap::dump(const StrategyResult& strategy) const {
  Json map = Json::array();
  const MapFigure& figure = map_figures()[static_cast<std::size_t>(figure_)];
  for (const LayerResult& layer : strategy.by_layer) {
    const auto value = figure.value(layer);
    map.push_back(
        {{"layer", layer.layer}, {"denoise_step", layer.denoise_step}, {"value", value ? Json(*value) : Json()}});
  }
  return map;
}

}  // namespace spscope::gui
