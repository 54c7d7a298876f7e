// The large pictures: one head under each chosen strategy, with one cursor.
#include <fmt/format.h>

#include <algorithm>

#include "gui/imgui_compat.h"
#include "gui/views/heads/heads_view.h"

namespace spscope::gui {

void HeadsView::draw_panels(Ui& ui, Session& session) {
  const int h = head(session);
  ui.text(fmt::format("head {}", h), {.face = Face::kBold, .max_width = ui.px(70)});
  ui.same_line();
  ui.text("queries down, keys across; bars: how much of each row and column is attended",
          {.face = Face::kSmall, .ink = Token::kMuted});
  if (const Error* error = mask_.error()) draw_error(ui, "mask", *error);
  if (!mask_.current())
    draw_loading(ui, "making", mask_, "Making the mask from its recipe; the picture shows its density meanwhile");
  std::vector<const Panel*> shown;
  for (const Panel& panel : panels_) shown.push_back(&panel);
  // The selected strategy first; without owners one picture says it all.
  std::ranges::stable_sort(shown, {},
                           [&](const Panel* p) { return session.selection().strategy == p->chosen.key ? 0 : 1; });
  if (!owner_overlay_ && !shown.empty()) shown.resize(1);
  const float width = ui.width_left() - ui.px(14);
  const int columns = shown.size() <= 1 ? 1 : std::max(1, static_cast<int>(width / ui.px(330)));
  const float side =
      std::max(ui.px(140),
               std::min((width - ui.px(16) * static_cast<float>(columns - 1)) / static_cast<float>(columns) - ui.px(22),
                        std::max(ui.px(220), ui.height_left() - ui.px(70))));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (i % static_cast<std::size_t>(columns) != 0) ui.same_line(16);
    ImGui::BeginGroup();
    draw_panel(ui, session, *shown[i], side);
    ImGui::EndGroup();
  }
}

// The textures of a large picture, taken over when it is another one.
const HeadsView::Textures& HeadsView::textures_of(const Panel& panel) {
  Textures& shown = textures_[panel.chosen.key];
  if (shown.of == panel.large) return shown;
  shown.of = panel.large;
  const LargeHead& large = *panel.large;
  shown.tiles.set(large.blocks, large.blocks, large.tiles);
  shown.row_bars.set(LargeHead::kBar, large.blocks, large.row_bars);
  shown.column_bars.set(large.blocks, LargeHead::kBar, large.column_bars);
  return shown;
}

void HeadsView::draw_panel(Ui& ui, Session& session, const Panel& panel, float side) {
  const Ui::Scope inside = ui.scope("panel " + panel.chosen.key.id);
  const bool selected = session.selection().strategy == panel.chosen.key;
  if (ui.link("strategy", owner_overlay_ ? panel.chosen.label : "density and tiles",
              {.face = selected ? Face::kBold : Face::kBody, .ink = Token::kInk, .max_width = side})) {
    Selection s = session.selection();
    s.strategy = panel.chosen.key;
    session.select(s);
  }
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Rect picture{from.x, from.y, from.x + side, from.y + side};
  const int h = head(session);
  const Hit hit = ui.target("picture", picture, {.kind = "picture", .text = panel.chosen.label, .ring = false});
  ui.fill(picture, ui.color(Token::kEmpty));
  if (panel.large) {
    const OwnedHead* owned = panel.owned();
    draw_tiles(ui, picture, textures_of(panel));
    const float cell = side / static_cast<float>(panel.large->blocks);
    // The tiles of the selected operation.
    const auto& op = session.selection().op;
    if (op && selected && owned != nullptr) {
      const OpTiles tiles = owned->tiles->tiles_of(*op);
      if (!tiles.q_blocks.empty() && !tiles.k_blocks.empty())
        ui.outline({picture.left + static_cast<float>(tiles.k_blocks.front()) * cell,
                    picture.top + static_cast<float>(tiles.q_blocks.front()) * cell,
                    picture.left + static_cast<float>(tiles.k_blocks.back() + 1) * cell,
                    picture.top + static_cast<float>(tiles.q_blocks.back() + 1) * cell},
                   ui.color(Token::kInk), 0, ui.px(2));
    }
    const ImVec2 mouse = ImGui::GetMousePos();
    if (hit.hovered)
      next_cursor_ = {static_cast<int>((mouse.y - picture.top) / cell),
                      static_cast<int>((mouse.x - picture.left) / cell)};
    const auto tile = cursor_ ? cursor_ : session.selection().tile;
    if (tile) {
      const float x = picture.left + (static_cast<float>(tile->second) + 0.5F) * cell,
                  y = picture.top + (static_cast<float>(tile->first) + 0.5F) * cell;
      ui.fill({x, picture.top, x + 1, picture.bottom}, ui.color(Token::kInk, 0.6F));
      ui.fill({picture.left, y, picture.right, y + 1}, ui.color(Token::kInk, 0.6F));
    }
    if (hit.clicked) {
      Selection s = session.selection();
      s.tile = next_cursor_;
      s.strategy = panel.chosen.key;
      s.head = h;
      session.select(s);
    }
  } else if (atlas_.name() != 0 && pictures_.value() != nullptr && *pictures_.value()) {
    const float heads = static_cast<float>((*pictures_.value())->thumbnails.size());
    ui.draw_list().AddImage(texture_id(atlas_.name()), {picture.left, picture.top}, {picture.right, picture.bottom},
                            {0, static_cast<float>(h) / heads}, {1, static_cast<float>(h + 1) / heads});
  }
  ImGui::Dummy({side + ui.px(20), side + ui.px(24)});
}

// Beside the picture, how many tiles each row has; below it, each column.
void HeadsView::draw_tiles(Ui& ui, const Rect& picture, const Textures& textures) {
  const auto draw = [&](const Texture& texture, const Rect& place) {
    if (texture.name() != 0)
      ui.draw_list().AddImage(texture_id(texture.name()), {place.left, place.top}, {place.right, place.bottom});
  };
  const float gap = ui.px(2), room = ui.px(16);
  draw(textures.tiles, picture);
  draw(textures.row_bars, {picture.right + gap, picture.top, picture.right + gap + room, picture.bottom});
  draw(textures.column_bars, {picture.left, picture.bottom + gap, picture.right, picture.bottom + gap + room});
}

}  // namespace spscope::gui
