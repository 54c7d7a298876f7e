// What the Heads view says of a head and a tile, and its numbers as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/over_ranks.h"
#include "backend/analysis/reason.h"
#include "backend/base/ids.h"
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

// What the picture of a difference shows, counted in its texels.
Json difference_json(const LargeHead& large, Appearance appearance) {
  const auto count = [&](Token token) {
    return static_cast<std::int64_t>(std::ranges::count(large.tiles, texel(token_color(token, appearance))));
  };
  const std::int64_t here = count(Token::kWire), there = count(Token::kLate), neither = count(Token::kEmpty);
  Json json = Json::object();
  json["only_here"] = here;
  json["only_there"] = there;
  json["both"] = static_cast<std::int64_t>(large.tiles.size()) - here - there - neither;
  return json;
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
  const std::string words = fmt::format("Next: see why {} is slower than {}.", chosen->label, faster->label);
  if (draw_hint(ui, session, "heads", words, "Compare")) compare(session);
}

// What the selected rank has more of than others, where others wait for it.
void HeadsView::draw_late_rank(Ui& ui, Session& session) {
  const Selection& s = session.selection();
  const auto chosen = s.strategy ? session.find(*s.strategy) : std::nullopt;
  if (!chosen) return;
  const auto late = late_rank(*chosen->strategy);
  if (late && s.rank == late->rank) {
    std::string words =
        fmt::format("Over all layer passes others wait for rank {} under {}", late->rank, chosen->label);
    if (late->more_tiles > 0)
      words += fmt::format(", and it has {} more tiles than the mean", percent_text(late->more_tiles));
    words += ".";
    const auto pass = session.pass();
    const PassData* data = pass ? session.pass_data(*chosen).value() : nullptr;
    if (const double more = data != nullptr ? above_mean(data->times.compute_ns, at(late->rank)) : 0; more > 0)
      words += fmt::format(" In layer {} of denoise step {} alone it computes {} longer than the mean.", pass->layer,
                           pass->step, percent_text(more));
    if (!late->heads.empty()) words += fmt::format(" Its heads are {}.", late->heads);
    ui.text(words, {.wrap = true});
  }
  if (const auto faster = faster_one(session, *chosen)) {
    ui.space(2);
    if (ui.button("compare", "Compare with " + faster->label, {.tooltip = "What the difference consists of"}))
      compare(session);
  }
  ui.space(6);
}

bool HeadsView::attended(int head, std::pair<int, int> tile) {
  const StepMask* step = mask_.current() ? mask_.value() : nullptr;
  return step != nullptr && head < step->mask.heads() && tile.first < step->mask.coarse_blocks() &&
         tile.second < step->mask.coarse_blocks() && step->mask.active(head, tile.first, tile.second);
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
  if (const auto& density = exact_density(); static_cast<std::size_t>(h) < density.size())
    ui.text("density " + percent_text(density[static_cast<std::size_t>(h)]), {.wrap = true});
  if (const HeadRanks* ranks = ranks_.value())
    if (const std::string who = ranks_text(*ranks, static_cast<std::size_t>(h)); !who.empty())
      ui.text("computed by " + who, {.wrap = true});
  ui.text(fmt::format("{} blocks of queries and of keys, {} tokens",
                      count_text(static_cast<double>((*pictures)->record.blocks)),
                      count_text(static_cast<double>((*pictures)->record.tokens))),
          {.ink = Token::kMuted, .wrap = true});
  const auto tile = cursor_ ? cursor_ : session.selection().tile;
  if (tile) {
    ui.space(6);
    const bool on = attended(h, *tile);
    ui.text(fmt::format("Tile: queries {}, keys {}{}", tile->first, tile->second, on ? "" : " (not attended)"),
            {.face = Face::kBold, .wrap = true});
    for (const Panel& panel : panels_) {
      const OwnedHead* owned = panel.owned();
      if (!on || owned == nullptr || tile->first >= owned->owners.blocks || tile->second >= owned->owners.blocks)
        continue;
      for (const TileOwner& owner : owned->tiles->owners(h, tile->first, tile->second)) {
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
    const OwnedHead* owned = panel.owned();
    if (owned == nullptr) continue;
    ui.space(6);
    ui.text("Tiles of this head by rank, " + panel.chosen.label,
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    const double most = std::max(1.0, *std::ranges::max_element(owned->by_rank));
    for (std::size_t r = 0; r < owned->by_rank.size(); ++r) {
      if (owned->by_rank[r] <= 0) continue;
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const float label = ui.px(60), room = std::max(ui.px(30), ui.width_left() - label - ui.px(84)),
                  width = static_cast<float>(owned->by_rank[r] / most) * room;
      ui.text_at(from.x, from.y, fmt::format("rank {}", r),
                 {.face = Face::kSmall, .ink = Token::kMuted, .max_width = label});
      ui.fill({from.x + label, from.y + ui.px(3), from.x + label + width, from.y + ui.px(13)},
              Ui::color(rank_color(static_cast<int>(r))));
      ui.text_at(from.x + label + room + ui.px(4), from.y, count_text(owned->by_rank[r]),
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
  json["order"] = ordered();
  json["density"] = exact_density();
  json["thumbnail_sums"] = (*pictures)->shade;
  if (const HeadRanks* ranks = ranks_.value()) {
    json["ranks_of_heads"] = Json::array();
    for (const std::vector<int>& of_head : ranks->of_head) json["ranks_of_heads"].push_back(Json(of_head));
  }
  if (!panels_.empty() && panels_.front().large) {
    const LargeHead& large = *panels_.front().large;
    json["blocks"] = large.blocks;
    json["row_loads"] = large.loads.rows;
    json["column_loads"] = large.loads.columns;
    if (difference_ && other_mask_.current()) json["difference"] = difference_json(large, appearance_);
  }
  json["strategies"] = Json::array();
  for (const Panel& panel : panels_) {
    const OwnedHead* owned = panel.owned();
    if (owned == nullptr) continue;
    Json one = Json::object();
    one["strategy"] = panel.chosen.key.id;
    one["tiles_by_rank"] = owned->by_rank;
    std::int64_t redundant = 0, moved = 0, shared = 0;
    for (const std::uint8_t m : owned->owners.marks) {
      redundant += (m & HeadOwners::kRedundant) != 0;
      moved += (m & HeadOwners::kMoved) != 0;
      shared += (m & HeadOwners::kShared) != 0;
    }
    one["redundant"] = redundant;
    one["moved"] = moved;
    one["shared"] = shared;
    if (const auto& tile = session.selection().tile;
        tile && attended(h, *tile) && tile->first < owned->owners.blocks && tile->second < owned->owners.blocks) {
      one["owners"] = Json::array();
      for (const TileOwner& owner : owned->tiles->owners(h, tile->first, tile->second)) {
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
