// What the Heads view says of a head and a tile, and its numbers as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/reason.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/views/heads/heads_view.h"

namespace spscope::gui {

namespace {

// The strategy that the selected one is compared with: the fastest of its workload; nothing when it is that itself.
std::optional<Chosen> faster_one(const Session& session, const Chosen& of) {
  std::optional<Chosen> best;
  for (Chosen& c : session.chosen())
    if (c.comparison == of.comparison && c.strategy->makespan_ns &&
        (!best || *c.strategy->makespan_ns < *best->strategy->makespan_ns))
      best = std::move(c);
  return best && best->key != of.key ? best : std::nullopt;
}

void compare(Session& session) {
  take_hint(session, "heads");
  session.show("compare");
}

}  // namespace

void HeadsView::draw_next_step(Ui& ui, Session& session) {
  const auto& key = session.selection().strategy;
  const auto chosen = key ? session.find(*key) : std::nullopt;
  const auto faster = chosen ? faster_one(session, *chosen) : std::nullopt;
  if (!faster) return;
  const std::string words = fmt::format("Next: see what {} takes longer for than {}.", chosen->label, faster->label);
  if (draw_hint(ui, session, "heads", words, "Compare")) compare(session);
}

// What the selected rank has more of than others, where others wait for it.
void HeadsView::draw_late_rank(Ui& ui, Session& session) {
  const Selection& s = session.selection();
  const auto chosen = s.strategy ? session.find(*s.strategy) : std::nullopt;
  if (!chosen) return;
  const auto late = late_rank(*chosen->strategy);
  if (late && s.rank == late->rank) {
    std::string words = fmt::format("Under {} others wait for rank {}", chosen->label, late->rank);
    if (late->more_tiles > 0)
      words += fmt::format(", which has {} more tiles than the mean", percent_text(late->more_tiles));
    if (!late->heads.empty()) words += fmt::format("; its heads are {}", late->heads);
    ui.text(words + ".", {.wrap = true});
  }
  if (const auto faster = faster_one(session, *chosen)) {
    ui.space(2);
    if (ui.button("compare", "Compare with " + faster->label, {.tooltip = "What the difference consists of"}))
      compare(session);
  }
  ui.space(6);
}

void HeadsView::draw_details(Ui& ui, Session& session) {
  const auto* pictures = pictures_.value();
  if (pictures == nullptr || !*pictures) {
    ui.note("No mask is shown.");
    return;
  }
  draw_late_rank(ui, session);
  const int h = head(session);
  ui.text(fmt::format("head {}", h), {.face = Face::kBold});
  if (static_cast<std::size_t>(h) < (*pictures)->density.size())
    ui.text("density " + percent_text((*pictures)->density[static_cast<std::size_t>(h)]), {.wrap = true});
  ui.text(fmt::format("{} blocks of queries and of keys, {} tokens", (*pictures)->record.blocks,
                      count_text(static_cast<double>((*pictures)->record.tokens))),
          {.ink = Token::kMuted, .wrap = true});
  const auto tile = cursor_ ? cursor_ : session.selection().tile;
  if (tile) {
    ui.space(6);
    const auto mask = mask_.current() ? mask_.share() : nullptr;
    const bool on = mask && tile->first < mask->coarse_blocks() && tile->second < mask->coarse_blocks() &&
                    h < mask->heads() && mask->active(h, tile->first, tile->second);
    ui.text(fmt::format("Tile: queries {}, keys {}{}", tile->first, tile->second, on ? "" : " (not attended)"),
            {.face = Face::kBold, .wrap = true});
    for (const Panel& panel : panels_) {
      if (panel.owned == nullptr || tile->first >= panel.owned->owners.blocks ||
          tile->second >= panel.owned->owners.blocks)
        continue;
      for (const TileOwner& owner : panel.owned->tiles->owners(h, tile->first, tile->second)) {
        const std::string words = fmt::format(
            "{}: rank {}, ring step {}{}{}", panel.chosen.label, owner.rank, owner.ring_step,
            owner.area < 0.999 ? ", " + percent_text(owner.area) + " of it" : "", owner.moved > 0 ? ", moved" : "");
        if (ui.link(fmt::format("owner {} {}", panel.chosen.key.id, owner.op), words)) {
          Link link = session.here();
          link.view = "timeline";
          link.selection.strategy = panel.chosen.key;
          link.selection.rank = owner.rank;
          link.selection.op = owner.op;
          session.go(link);
        }
      }
    }
  }
  for (const Panel& panel : panels_) {
    if (panel.owned == nullptr) continue;
    ui.space(6);
    ui.text("Tiles of this head by rank, " + panel.chosen.label,
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    const double most = std::max(1.0, *std::ranges::max_element(panel.owned->by_rank));
    for (std::size_t r = 0; r < panel.owned->by_rank.size(); ++r) {
      if (panel.owned->by_rank[r] <= 0) continue;
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const float label = ui.px(52), room = std::max(ui.px(30), ui.width_left() - label - ui.px(84)),
                  width = static_cast<float>(panel.owned->by_rank[r] / most) * room;
      ui.text_at(from.x, from.y, fmt::format("rank {}", r),
                 {.face = Face::kSmall, .ink = Token::kMuted, .max_width = label});
      ui.fill({from.x + label, from.y + ui.px(3), from.x + label + width, from.y + ui.px(13)},
              Ui::color(rank_color(static_cast<int>(r))));
      ui.text_at(from.x + label + room + ui.px(4), from.y, count_text(panel.owned->by_rank[r]),
                 {.face = Face::kMono, .max_width = ui.px(78)});
      ImGui::Dummy({0, ui.px(17)});
    }
  }
}

Json HeadsView::dump(Session& session) {
  Json json = Json::object();
  const auto* pictures = pictures_.value();
  if (pictures == nullptr || !*pictures) return json;
  const int h = head(session);
  json["axis"] = spatial_ ? "spatial" : "temporal";
  json["head"] = h;
  json["order"] = ordered(session);
  json["density"] = (*pictures)->density;
  json["owner_of_head"] = owners_of_heads(session);
  const auto mask = mask_.current() ? mask_.share() : nullptr;
  if (mask && h < mask->heads()) {
    json["blocks"] = mask->coarse_blocks();
    const HeadLoads loads = head_loads(*mask, h);
    json["row_loads"] = loads.rows;
    json["column_loads"] = loads.columns;
  }
  json["strategies"] = Json::array();
  for (const Panel& panel : panels_) {
    if (panel.owned == nullptr) continue;
    Json one = Json::object();
    one["strategy"] = panel.chosen.key.id;
    one["tiles_by_rank"] = panel.owned->by_rank;
    std::int64_t redundant = 0, moved = 0, shared = 0;
    for (const std::uint8_t m : panel.owned->owners.marks) {
      redundant += (m & HeadOwners::kRedundant) != 0;
      moved += (m & HeadOwners::kMoved) != 0;
      shared += (m & HeadOwners::kShared) != 0;
    }
    one["redundant"] = redundant;
    one["moved"] = moved;
    one["shared"] = shared;
    if (const auto& tile = session.selection().tile;
        tile && tile->first < panel.owned->owners.blocks && tile->second < panel.owned->owners.blocks) {
      one["owners"] = Json::array();
      for (const TileOwner& owner : panel.owned->tiles->owners(h, tile->first, tile->second)) {
        Json row = Json::object();
        row["op"] = owner.op;
        row["rank"] = owner.rank;
        row["ring_step"] = owner.ring_step;
        row["area"] = owner.area;
        one["owners"].push_back(std::move(row));
      }
    }
    json["strategies"].push_back(std::move(one));
  }
  return json;
}

}  // namespace spscope::gui
