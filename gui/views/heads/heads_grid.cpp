// The grid of all heads: their thumbnails in one texture, with density and ranks below each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/views/color_scale.h"
#include "gui/views/heads/heads_view.h"

namespace spscope::gui {
namespace {

constexpr int kSide = DensityThumbnail::kSide;

// A bar in the colours of the ranks that attend a head, of many the first ones.
void draw_ranks(Ui& ui, const Rect& bar, const std::vector<int>& ranks) {
  const std::size_t count = std::min<std::size_t>(ranks.size(), 8);
  for (std::size_t i = 0; i < count; ++i) {
    const float part = bar.height() / static_cast<float>(count), top = bar.top + part * static_cast<float>(i);
    ui.fill({bar.left, top, bar.right, top + part}, Ui::color(rank_color(ranks[i])), count == 1 ? ui.px(1) : 0);
  }
}

}  // namespace

void HeadsView::scroll_to_shown(const Session& session, const std::vector<int>& heads, int columns, float row_height) {
  // Once a choice, when it is known who attends what: the user may scroll away from it.
  const auto& selected = session.selection();
  const std::string place =
      fmt::format("{} {} {} {}", head(session), selected.rank.value_or(-1), columns, static_cast<int>(order_));
  if (place == scrolled_to_ || !mask_.current() || (selected.rank && !ranks_.current())) return;
  scrolled_to_ = place;
  const HeadRanks* ranks = selected.rank ? ranks_.value() : nullptr;
  int first = -1, last = -1, shown = 0;  // rows: of the heads of the selected rank, and of the one that is large
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int row = static_cast<int>(i) / columns;
    const auto h = static_cast<std::size_t>(heads[i]);
    if (heads[i] == head(session)) shown = row;
    if (ranks == nullptr || h >= ranks->of_head.size() ||
        !std::ranges::binary_search(ranks->of_head[h], *selected.rank))
      continue;
    if (first < 0) first = row;
    last = row;
  }
  const float room = ImGui::GetWindowHeight(), now = ImGui::GetScrollY(), above = ImGui::GetCursorPosY();
  if (first < 0 || static_cast<float>(last + 1 - first) * row_height > room || shown < first || shown > last)
    first = last = shown;
  const float top = above + static_cast<float>(first) * row_height,
              bottom = above + static_cast<float>(last + 1) * row_height;
  if (top < now || bottom > now + room) ImGui::SetScrollY(std::max(0.F, (top + bottom - room) / 2));
}

std::vector<int> HeadsView::ordered() {
  const auto* pictures = pictures_.value();
  if (pictures == nullptr || !*pictures) return {};
  std::vector<int> heads((*pictures)->thumbnails.size());
  std::iota(heads.begin(), heads.end(), 0);
  const auto sort_by = [&](auto&& values, auto&& before) {
    if (values.size() == heads.size())
      std::ranges::stable_sort(heads, before, [&](int h) { return values[static_cast<std::size_t>(h)]; });
  };
  switch (order_) {
    case Order::kHead:
      break;
    case Order::kDensity:
      sort_by(exact_density().empty() ? (*pictures)->shade : exact_density(), std::greater<>());
      break;
    case Order::kTiles:
      if (mask_.current()) sort_by(mask_.value()->tiles, std::greater<>());
      break;
    case Order::kOwner:
      if (const HeadRanks* ranks = ranks_.value()) sort_by(ranks->of_head, std::less<>());
      break;
  }
  return heads;
}

void HeadsView::make_atlas(const HeadPictures& pictures, Appearance appearance) {
  const auto* other = difference_ ? other_pictures_.value() : nullptr;
  const HeadPictures* minus = other != nullptr && *other ? &**other : nullptr;
  const std::string key = fmt::format("{} {} {}", static_cast<const void*>(&pictures), static_cast<const void*>(minus),
                                      static_cast<int>(appearance));
  if (key == atlas_key_) return;
  atlas_key_ = key;
  const Rgb empty = token_color(Token::kEmpty, appearance), more = token_color(Token::kWire, appearance),
            less = token_color(Token::kLate, appearance);
  std::vector<std::uint32_t> texels;
  texels.reserve(pictures.thumbnails.size() * kSide * kSide);
  for (std::size_t h = 0; h < pictures.thumbnails.size(); ++h) {
    const auto& cells = pictures.thumbnails[h].cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (minus != nullptr && h < minus->thumbnails.size()) {
        const double by = (static_cast<double>(cells[i]) - minus->thumbnails[h].cells[i]) / 255;
        texels.push_back(texel(blended(by > 0 ? more : less, empty, std::min(1.0, std::abs(by) * 2))));
      } else {
        texels.push_back(texel(cells[i] == 0 ? empty : density_color(cells[i] / 255.0)));
      }
    }
  }
  atlas_.set(kSide, kSide * static_cast<int>(pictures.thumbnails.size()), texels, true);
}

// Above the grid, so that it does not scroll away.
void HeadsView::draw_scale(Ui& ui, float width) const {
  if (difference_)
    ui.text("density: green grew, orange fell, since the other step",
            {.face = Face::kSmall, .ink = Token::kMuted, .max_width = width, .wrap = true});
  else
    draw_color_scale(ui, "density", percent_text(0), percent_text(1), width);
}

void HeadsView::draw_grid(Ui& ui, Session& session, float width) {
  const HeadPictures& pictures = **pictures_.value();
  if (pictures.thumbnails.empty()) {
    if (ui.empty_state("lost",
                       "The file has lost its thumbnails. They can be made from the masks, which takes a moment each.",
                       "Make them"))
      make_lost_ = true;
    draw_loading(ui, "making thumbnails", pictures_, "Making the thumbnails of this layer pass");
    return;
  }
  make_atlas(pictures, ui.theme().appearance);
  const std::vector<double>& density = exact_density();
  const HeadRanks* ranks = ranks_.value();
  const float gap = ui.px(8), label = ui.px(18);
  const int columns = std::max(1, static_cast<int>((width + gap) / (ui.px(64) + gap)));
  const float side = std::floor((width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const int shown = head(session);
  const std::vector<int> heads = ordered();
  scroll_to_shown(session, heads, columns, side + label + gap);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int h = heads[i];
    const auto column = static_cast<float>(i % static_cast<std::size_t>(columns)),
               row = static_cast<float>(i / static_cast<std::size_t>(columns));
    const float x = from.x + column * (side + gap), y = from.y + row * (side + label + gap);
    const Rect picture{x, y, x + side, y + side};
    if (y > ui.clip().bottom || y + side + label < ui.clip().top) continue;
    const auto index = static_cast<std::size_t>(h);
    const std::string share = index < density.size() ? percent_text(density[index]) : "";
    static const std::vector<int> kNobody;
    const std::vector<int>& owners =
        ranks != nullptr && index < ranks->of_head.size() ? ranks->of_head[index] : kNobody;
    // Where every rank attends each head, none is one's own.
    const bool of_rank = session.selection().rank && ranks != nullptr && static_cast<int>(owners.size()) < ranks->all &&
                         std::ranges::binary_search(owners, *session.selection().rank);
    const Hit hit = ui.target(fmt::format("head {}", h), {x, y, x + side, y + side + label},
                              {.kind = "picture",
                               .text = fmt::format("head {}", h),
                               .value = index < density.size() ? fmt::format("{}", density[index]) : "",
                               .selected = h == shown});
    if (atlas_.name() != 0) {
      const float top = static_cast<float>(h) / static_cast<float>(pictures.thumbnails.size());
      const float bottom = static_cast<float>(h + 1) / static_cast<float>(pictures.thumbnails.size());
      ui.draw_list().AddImage(texture_id(atlas_.name()), {picture.left, picture.top}, {picture.right, picture.bottom},
                              {0, top}, {1, bottom});
    }
    if (h == shown) {
      ui.outline(picture, ui.color(Token::kAccent), 0, ui.px(3));
    } else if (of_rank) {
      ui.outline(picture, ui.color(Token::kInk), 0, ui.px(2));
    }
    if (of_rank) ui.mark(fmt::format("of rank {}", h), picture, fmt::format("{}", h));
    draw_ranks(ui, {x, y + side + ui.px(4), x + ui.px(4), y + side + label - ui.px(2)}, owners);
    ui.text_at(x + ui.px(7), y + side + ui.px(3), fmt::format("{}  {}", h, share),
               {.face = Face::kSmall, .ink = h == shown ? Token::kInk : Token::kMuted, .max_width = side - ui.px(6)});
    if (hit.hovered)
      ui.tooltip(fmt::format("head {}{}{}", h, share.empty() ? "" : ": density " + share,
                             owners.empty() ? "" : ", computed by " + ranks_text(*ranks, index)));
    if (hit.clicked) {
      Selection s = session.selection();
      s.head = h;
      session.select(s);
    }
  }
  const std::size_t rows = (heads.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  ImGui::Dummy({width, static_cast<float>(rows) * (side + label + gap)});
}

}  // namespace spscope::gui
