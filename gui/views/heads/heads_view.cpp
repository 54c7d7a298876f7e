#include "gui/views/heads/heads_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

constexpr int kSide = DensityThumbnail::kSide;

// Bytes in the order R, G, B, A.
std::uint32_t texel(Rgb c) { return 0xff000000u | (c & 0xff) << 16 | (c & 0xff00) | (c >> 16 & 0xff); }
Rgb blended(Rgb over, Rgb under, double share) {
  Rgb out = 0;
  for (const int shift : {16, 8, 0}) {
    const double a = over >> shift & 0xff, b = under >> shift & 0xff;
    out |= static_cast<Rgb>(std::lround(b + (a - b) * share)) << shift;
  }
  return out;
}

// Heads in texts such as "5-9, 12"; empty: all.
std::set<int> heads_in(const std::string& text, int heads) {
  std::set<int> found;
  int number = -1, first = -1;
  for (const char c : text + ",") {
    if (c >= '0' && c <= '9') {
      number = std::max(number, 0) * 10 + (c - '0');
    } else if (c == '-') {
      first = number;
      number = -1;
    } else if (c == ',' && number >= 0) {
      for (int h = first >= 0 ? first : number; h <= std::min(number, heads - 1); ++h) found.insert(h);
      number = first = -1;
    }
  }
  return found;
}

}  // namespace

int HeadsView::head(Session& session) const {
  if (const auto& head = session.selection().head) return *head;
  // At first one that the selected rank computes, the densest of them.
  const auto* pictures = const_cast<HeadsView*>(this)->pictures_.value();
  if (pictures == nullptr || !*pictures || (*pictures)->density.empty()) return 0;
  const std::vector<int> owners = owners_of_heads(session);
  int best = 0;
  double most = -1;
  for (std::size_t h = 0; h < (*pictures)->density.size(); ++h) {
    if (session.selection().rank && h < owners.size() && owners[h] >= 0 && owners[h] != *session.selection().rank)
      continue;
    if ((*pictures)->density[h] <= most) continue;
    most = (*pictures)->density[h];
    best = static_cast<int>(h);
  }
  return best;
}

std::vector<int> HeadsView::owners_of_heads(const Session& session) const {
  const auto chosen = session.chosen();
  const Chosen* of = nullptr;
  for (const Chosen& c : chosen)
    if (of == nullptr || session.selection().strategy == c.key) of = &c;
  if (of == nullptr) return {};
  const int heads = of->comparison->workload.heads;
  std::vector<int> owners(static_cast<std::size_t>(heads), -1);
  for (std::size_t rank = 0; rank < of->strategy->heads_by_rank.size(); ++rank)
    for (const int h : heads_in(of->strategy->heads_by_rank[rank], heads))
      owners[static_cast<std::size_t>(h)] = static_cast<int>(rank);
  return owners;
}

void HeadsView::ask(Session& session) {
  panels_.clear();
  const std::vector<Chosen> chosen = session.chosen();
  const auto pass = session.pass();
  if (chosen.empty() || !pass) return;
  const Chosen* of = &chosen.front();
  for (const Chosen& c : chosen)
    if (session.selection().strategy == c.key) of = &c;
  const AttendedAxis axis = spatial_ ? AttendedAxis::kInner : AttendedAxis::kOuter;
  const auto at_step = [&](int step) {
    return
        [path = of->file->path, generation = of->file->generation, workload = of->comparison->workload.workload_id,
         layer = pass->layer, step, axis, make_lost = make_lost_](Readers& readers, const Cancelled&, QueryProgress&) {
          return load_pictures(readers.of(path, generation), workload, layer, step, axis, make_lost);
        };
  };
  const auto mask_at = [&](int step) {
    return [path = of->file->path, generation = of->file->generation, workload = of->comparison->workload.workload_id,
            layer = pass->layer, step, axis](Readers& readers, const Cancelled&, QueryProgress&) {
      auto mask = stored_mask(readers.of(path, generation), workload, layer, step, axis);
      if (!mask) throw Error(ErrorCode::kUsage, "the file has no mask of this layer pass", "choose another layer pass");
      return *std::move(mask);
    };
  };
  const std::string key =
      fmt::format("{} {} {} {} {} {}", of->file->path, of->file->generation,
                  static_cast<std::int64_t>(of->comparison->workload.workload_id), pass->layer, spatial_, make_lost_);
  pictures_.ask(session.workers(), fmt::format("{} {}", key, pass->step), at_step(pass->step));
  mask_.ask(session.workers(), fmt::format("{} {}", key, pass->step), mask_at(pass->step));
  if (difference_) {
    other_pictures_.ask(session.workers(), fmt::format("{} {}", key, other_step_), at_step(other_step_));
    other_mask_.ask(session.workers(), fmt::format("{} {}", key, other_step_), mask_at(other_step_));
  }
  const auto mask = mask_.current() ? mask_.share() : nullptr;
  if (mask && order_ == Order::kTiles)
    tiles_.ask(session.workers(), fmt::format("{}", static_cast<const void*>(mask.get())),
               [mask](Readers&, const Cancelled&, QueryProgress&) { return tiles_by_head(*mask); });
  const int shown_head = head(session);
  for (const Chosen& c : chosen) {
    if (c.comparison != of->comparison) continue;
    Panel panel{.chosen = c};
    const auto data = session.pass_data(c).share();
    if (mask && data && data->plan && shown_head < mask->heads()) {
      auto& slot = owners_[c.file->path + " " + c.key.id];
      if (!slot) slot = std::make_unique<QuerySlot<OwnedHead>>();
      slot->ask(session.workers(),
                fmt::format("{} {} {}", static_cast<const void*>(data.get()), static_cast<const void*>(mask.get()),
                            shown_head),
                [plan = data->plan, axis, mask, shown_head](Readers&, const Cancelled&, QueryProgress&) {
                  return own_head(plan, axis, *mask, shown_head);
                });
      panel.slot = slot.get();
      panel.owned = slot->value();
    }
    panels_.push_back(std::move(panel));
  }
}

void HeadsView::move(Session& session, int by) {
  std::set<int> all;
  for (const LayerPass& p : session.passes()) all.insert(along_layers_ ? p.layer : p.step);
  const auto pass = session.pass();
  if (!pass || all.empty()) return;
  const auto now = all.find(along_layers_ ? pass->layer : pass->step);
  std::optional<int> next;
  if (now == all.end() || (by > 0 && std::next(now) == all.end())) {
    next = *all.begin();
  } else if (by > 0) {
    next = *std::next(now);
  } else if (now != all.begin()) {
    next = *std::prev(now);
  }
  if (!next) return;
  Scope scope = session.scope();
  (along_layers_ ? scope.layer : scope.step) = next;
  session.set_scope(scope);
}

void HeadsView::play(Session& session) {
  if (session.settings().less_motion) {
    move(session, 1);
  } else {
    playing_ = !playing_;
  }
}

bool HeadsView::run(Command command, Ui&, Session& session) {
  switch (command) {
    case Command::kPlay:
      play(session);
      return true;
    case Command::kNextEvent:
      move(session, 1);
      return true;
    case Command::kPreviousEvent:
      move(session, -1);
      return true;
    case Command::kNextRank:
    case Command::kPreviousRank: {
      Selection s = session.selection();
      const auto* pictures = pictures_.value();
      const int heads = pictures != nullptr && *pictures ? static_cast<int>((*pictures)->thumbnails.size()) : 1;
      s.head = std::clamp(head(session) + (command == Command::kNextRank ? 1 : -1), 0, std::max(0, heads - 1));
      session.select(s);
      return true;
    }
    default:
      return false;
  }
}

void HeadsView::draw(Ui& ui, Session& session) {
  playing_ = playing_ && !session.settings().less_motion;
  if (playing_) {
    const double now = static_cast<double>(now_ns()) * 1e-9;
    if (now - last_step_s_ >= 0.5 && pictures_.current()) {
      last_step_s_ = now;
      move(session, 1);
    }
  }
  cursor_ = std::exchange(next_cursor_, std::nullopt);
  ask(session);
  if (took_hint(session, "timeline")) draw_next_step(ui, session);
  toolbar(ui, session);
  if (const Error* error = pictures_.error()) draw_error(ui, "failed", *error);
  const auto* pictures = pictures_.value();
  if (pictures == nullptr) {
    draw_loading(ui, "loading", pictures_, "Reading the thumbnails of this layer pass");
    return;
  }
  if (!*pictures) {
    ui.empty_state("no mask", spatial_ ? "The file has no mask of this layer pass."
                                       : "This model attends over all tokens at once: it has no temporal axis.");
    return;
  }
  const float left = std::clamp(ui.width_left() * 0.3F, ui.px(180), ui.px(330)), height = ui.height_left();
  ui.pane("grid", {.width = left, .height = height, .back = Token::kSurface, .padded = false}, [&] {
    draw_grid(ui, session, left - ui.px(16));
    if (is_slow(pictures_)) ui.dim(ui.clip());
  });
  ui.same_line(12);
  ui.pane("panels", {.height = height, .back = Token::kSurface, .padded = false}, [&] {
    draw_panels(ui, session);
    if (is_slow(mask_) && mask_.value() != nullptr) ui.dim(ui.clip());
  });
}

void HeadsView::toolbar(Ui& ui, Session& session) {
  static const std::vector<std::string> kOrders = {"by head", "by density", "by tiles", "by owner"};
  int order = static_cast<int>(order_);
  if (ui.choice("order", kOrders, order, ui.px(120), "Order of the heads")) order_ = static_cast<Order>(order);
  ui.same_line();
  ui.checkbox("owner", "Owners", owner_overlay_, "Colour each tile by the rank that computes it, or by its ring step");
  if (owner_overlay_) {
    static const std::vector<std::string> kBy = {"rank", "ring step"};
    int by = by_ring_step_ ? 1 : 0;
    ui.same_line(4);
    if (ui.choice("owner by", kBy, by, ui.px(100), "What the colours of tiles say")) by_ring_step_ = by == 1;
  }
  std::set<int> layers, steps;
  for (const LayerPass& p : session.passes()) {
    layers.insert(p.layer);
    steps.insert(p.step);
  }
  const auto pass = session.pass();
  if (!pass) return;
  const auto slide = [&](const char* name, const std::set<int>& all, int now) -> std::optional<int> {
    if (all.size() < 2) return std::nullopt;
    int place = static_cast<int>(std::distance(all.begin(), all.find(now)));
    flow(ui, 240);
    ui.text(fmt::format("{} {}", name, now),
            {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.px(110), .beside = true});
    ui.same_line();
    if (!ui.slider(name, place, 0, static_cast<int>(all.size()) - 1, ui.px(110))) return std::nullopt;
    return *std::next(all.begin(), place);
  };
  Scope scope = session.scope();
  if (const auto layer = slide("layer", layers, pass->layer)) scope.layer = layer;
  if (const auto step = slide("denoise step", steps, pass->step)) scope.step = step;
  session.set_scope(scope);
  if (layers.size() > 1 || steps.size() > 1) {
    along_layers_ = steps.size() < 2 || (along_layers_ && layers.size() > 1);
    flow(ui, 150);
    const bool stills = session.settings().less_motion;
    const std::string tip = key_tip(
        ui, fmt::format("{} {}", stills ? "The next of the" : "Play the", along_layers_ ? "layers" : "denoise steps"),
        Command::kPlay);
    if (ui.button("play",
                  !stills         ? (playing_ ? "Stop" : "Play")
                  : along_layers_ ? "Next layer"
                                  : "Next step",
                  {.tooltip = tip}))
      play(session);
    if (layers.size() > 1 && steps.size() > 1) {
      static const std::vector<std::string> kAlong = {"steps", "layers"};
      int along = along_layers_ ? 1 : 0;
      ui.same_line(4);
      if (ui.choice("along", kAlong, along, ui.px(84), "What is played")) along_layers_ = along == 1;
    }
  }
  if (steps.size() > 1) {
    flow(ui, 240);
    ui.checkbox("difference", "Difference to step", difference_);
    if (difference_) {
      std::vector<std::string> texts;
      for (const int s : steps) texts.push_back(fmt::format("{}", s));
      int place = static_cast<int>(std::distance(steps.begin(), steps.find(other_step_)));
      ui.same_line();
      if (ui.choice("other step", texts, place, ui.px(70))) other_step_ = *std::next(steps.begin(), place);
    }
  }
  const auto* pictures = pictures_.value();
  const bool both = !spatial_ || (pictures != nullptr && *pictures && (*pictures)->both_axes);
  if (both) {
    static const std::vector<std::string> kAxes = {"spatial", "temporal"};
    int axis = spatial_ ? 0 : 1;
    flow(ui, 160);
    if (ui.segments("axis", kAxes, axis)) spatial_ = axis == 0;
  }
}

std::vector<int> HeadsView::ordered(const Session& session) const {
  const auto* pictures = const_cast<HeadsView*>(this)->pictures_.value();
  if (pictures == nullptr || !*pictures) return {};
  std::vector<int> heads((*pictures)->thumbnails.size());
  std::iota(heads.begin(), heads.end(), 0);
  const std::vector<int> owners = owners_of_heads(session);
  if (order_ == Order::kDensity)
    std::ranges::stable_sort(heads, std::greater<>(),
                             [&](int h) { return (*pictures)->density[static_cast<std::size_t>(h)]; });
  if (order_ == Order::kTiles)
    if (const auto* tiles = const_cast<HeadsView*>(this)->tiles_.value();
        tiles != nullptr && tiles->size() == heads.size())
      std::ranges::stable_sort(heads, std::greater<>(), [&](int h) { return (*tiles)[static_cast<std::size_t>(h)]; });
  if (order_ == Order::kOwner)
    std::ranges::stable_sort(heads, {}, [&](int h) {
      return static_cast<std::size_t>(h) < owners.size() ? owners[static_cast<std::size_t>(h)] : -1;
    });
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
  const std::vector<int> owners = owners_of_heads(session);
  const float gap = ui.px(8), label = ui.px(18);
  const int columns = std::max(1, static_cast<int>((width + gap) / (ui.px(64) + gap)));
  const float side = std::floor((width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const int shown = head(session);
  const std::vector<int> heads = ordered(session);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int h = heads[i];
    const auto column = static_cast<float>(i % static_cast<std::size_t>(columns)),
               row = static_cast<float>(i / static_cast<std::size_t>(columns));
    const float x = from.x + column * (side + gap), y = from.y + row * (side + label + gap);
    const Rect picture{x, y, x + side, y + side};
    if (y > ui.clip().bottom || y + side + label < ui.clip().top) continue;
    const double density = pictures.density[static_cast<std::size_t>(h)];
    const int owner = static_cast<std::size_t>(h) < owners.size() ? owners[static_cast<std::size_t>(h)] : -1;
    const bool of_rank = session.selection().rank && owner == *session.selection().rank;
    const Hit hit = ui.target(fmt::format("head {}", h), {x, y, x + side, y + side + label},
                              {.kind = "picture",
                               .text = fmt::format("head {}", h),
                               .value = fmt::format("{}", density),
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
    if (owner >= 0)
      ui.fill({x, y + side + ui.px(4), x + ui.px(4), y + side + label - ui.px(2)}, Ui::color(rank_color(owner)),
              ui.px(1));
    ui.text_at(x + ui.px(7), y + side + ui.px(3), fmt::format("{}  {}", h, percent_text(density)),
               {.face = Face::kSmall, .ink = h == shown ? Token::kInk : Token::kMuted, .max_width = side - ui.px(6)});
    if (hit.hovered)
      ui.tooltip(fmt::format("head {}: density {}{}", h, percent_text(density),
                             owner >= 0 ? fmt::format(", computed by rank {}", owner) : ""));
    if (hit.clicked) {
      Selection s = session.selection();
      s.head = h;
      session.select(s);
    }
  }
  const std::size_t rows = (heads.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  ImGui::Dummy({width, static_cast<float>(rows) * (side + label + gap)});
}

void HeadsView::draw_panels(Ui& ui, Session& session) {
  const int h = head(session);
  ui.text(fmt::format("head {}", h), {.face = Face::kBold});
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

void HeadsView::make_picture(Ui& ui, const Panel& panel, int h, const std::string& key) {
  auto& [shown, texture] = large_[panel.chosen.key.id];
  if (shown == key) return;
  const auto mask = mask_.share();
  const auto other = difference_ ? other_mask_.share() : nullptr;
  const int blocks = mask->coarse_blocks();
  const Rgb empty = ui.theme().color(Token::kEmpty), active = ui.theme().color(Token::kAccent);
  const Rgb redundant = ui.theme().color(Token::kRedundant), surface = ui.theme().color(Token::kSurface);
  std::vector<std::uint32_t> texels(static_cast<std::size_t>(blocks) * static_cast<std::size_t>(blocks), texel(empty));
  const bool owners = owner_overlay_ && panel.owned != nullptr && panel.owned->owners.blocks == blocks;
  double last_step = 0;  // of a ring
  if (owners)
    for (const Post& post : panel.owned->plan->posts)
      last_step = std::max(last_step, static_cast<double>(post.ring_step));
  for (int q = 0; q < blocks; ++q)
    for (int k = 0; k < blocks; ++k) {
      const bool on = mask->active(h, q, k), was = other && other->coarse_blocks() == blocks && other->active(h, q, k);
      const std::size_t i =
          static_cast<std::size_t>(q) * static_cast<std::size_t>(blocks) + static_cast<std::size_t>(k);
      if (difference_ && other) {
        if (on != was)
          texels[i] = texel(ui.theme().color(on ? Token::kWire : Token::kLate));
        else if (on)
          texels[i] = texel(blended(ui.theme().color(Token::kMuted), empty, 0.4));
        continue;
      }
      if (!on) continue;
      Rgb color = active;
      if (owners) {
        const OpId op = panel.owned->owners.op[i];
        const std::uint8_t marks = panel.owned->owners.marks[i];
        if (op != kNone) {
          const Op& owner = panel.owned->plan->ops[static_cast<std::size_t>(op)];
          color = by_ring_step_ ? density_color(panel.owned->plan->post_of(owner).ring_step / std::max(1.0, last_step))
                                : rank_color(owner.rank);
        }
        if ((marks & HeadOwners::kMoved) != 0) color = blended(color, surface, 0.6);
        if ((marks & HeadOwners::kRedundant) != 0) color = redundant;
      }
      texels[i] = texel(color);
    }
  texture.set(blocks, blocks, texels);
  shown = key;
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
  const auto mask = mask_.current() ? mask_.share() : nullptr;
  const Hit hit = ui.target("picture", picture, {.kind = "picture", .text = panel.chosen.label, .ring = false});
  ui.fill(picture, ui.color(Token::kEmpty));
  if (mask && h < mask->heads()) {
    const std::string key =
        fmt::format("{} {} {} {} {} {} {} {}", h, static_cast<const void*>(mask.get()),
                    static_cast<const void*>(panel.owned), owner_overlay_, by_ring_step_, difference_,
                    static_cast<const void*>(other_mask_.share().get()), static_cast<int>(ui.theme().appearance));
    make_picture(ui, panel, h, key);
    if (const Texture& t = large_[panel.chosen.key.id].second; t.name() != 0)
      ui.draw_list().AddImage(texture_id(t.name()), {picture.left, picture.top}, {picture.right, picture.bottom});
    const float cell = side / static_cast<float>(mask->coarse_blocks());
    // The tiles of the selected operation.
    const auto& op = session.selection().op;
    if (op && selected && panel.owned != nullptr) {
      const OpTiles tiles = panel.owned->tiles->tiles_of(*op);
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
    draw_loads(ui, picture, *mask, h);
  } else if (atlas_.name() != 0 && pictures_.value() != nullptr && *pictures_.value()) {
    const float heads = static_cast<float>((*pictures_.value())->thumbnails.size());
    ui.draw_list().AddImage(texture_id(atlas_.name()), {picture.left, picture.top}, {picture.right, picture.bottom},
                            {0, static_cast<float>(h) / heads}, {1, static_cast<float>(h + 1) / heads});
  }
  ImGui::Dummy({side + ui.px(20), side + ui.px(24)});
}

// Beside the picture, how many tiles each row has; below it, each column.
void HeadsView::draw_loads(Ui& ui, const Rect& picture, const BlockMask& mask, int h) {
  const HeadLoads loads = head_loads(mask, h);
  const float room = ui.px(16), cell = picture.height() / static_cast<float>(loads.rows.size());
  const auto most = static_cast<float>(std::max(1, mask.coarse_blocks()));
  for (std::size_t i = 0; i < loads.rows.size(); ++i) {
    const float at = static_cast<float>(i) * cell, thick = std::max(1.F, cell);
    ui.fill({picture.right + ui.px(2), picture.top + at,
             picture.right + ui.px(2) + static_cast<float>(loads.rows[i]) / most * room, picture.top + at + thick},
            ui.color(Token::kMuted));
    ui.fill({picture.left + at, picture.bottom + ui.px(2), picture.left + at + thick,
             picture.bottom + ui.px(2) + static_cast<float>(loads.columns[i]) / most * room},
            ui.color(Token::kMuted));
  }
}

std::unique_ptr<View> make_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace spscope::gui
