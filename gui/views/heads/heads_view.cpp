#include "gui/views/heads/heads_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

// The chosen strategy that is selected, else the first one.
const Chosen& shown_of(const Session& session, const std::vector<Chosen>& chosen) {
  const auto selected = session.selection().strategy;
  const auto found = std::ranges::find_if(chosen, [&](const Chosen& c) { return selected == c.key; });
  return found != chosen.end() ? *found : chosen.front();
}

}  // namespace

void HeadsView::ask(Session& session) {
  panels_.clear();
  const std::vector<Chosen> chosen = session.chosen_in_pass();
  const auto pass = session.pass();
  if (chosen.empty() || !pass) return;
  const Chosen& of = shown_of(session, chosen);
  const AttendedAxis axis = spatial_ ? AttendedAxis::kInner : AttendedAxis::kOuter;
  ask_masks(session, of, *pass, axis);
  Session::PassSlot& data = session.pass_data(of);
  if (data.current() && data.value()->plan)
    ranks_.ask(session.workers(), fmt::format("{} {}", data_key(session, of, *pass), spatial_),
               [plan = data.value()->plan, axis](Readers&, const Cancelled&, QueryProgress&) {
                 return ranks_of_heads(*plan, axis);
               });
  else if (data.current() || data.error() != nullptr)
    ranks_.forget();
  choose_first_head(session);
  for (const Chosen& c : chosen)
    if (c.comparison == of.comparison) panels_.push_back(ask_panel(session, c, *pass, axis));
}

std::string HeadsView::data_key(const Session& session, const Chosen& of, LayerPass pass) {
  return fmt::format("{} {} {} {} {} {}", of.file->path, of.file->generation, of.key.id, pass.layer, pass.step,
                     session.scope().repeat.value_or(-1));
}

void HeadsView::ask_masks(Session& session, const Chosen& of, LayerPass pass, AttendedAxis axis) {
  const WorkloadId workload = of.comparison->workload.workload_id;
  const auto ask_step = [&](int step, QuerySlot<std::optional<HeadPictures>>& pictures, QuerySlot<StepMask>& mask) {
    const std::string key = fmt::format("{} {} {} {} {} {}", of.file->path, of.file->generation,
                                        static_cast<std::int64_t>(workload), pass.layer, spatial_, step);
    pictures.ask(session.workers(), fmt::format("{} {}", key, make_lost_),
                 [path = of.file->path, generation = of.file->generation, workload, layer = pass.layer, step, axis,
                  make_lost = make_lost_](Readers& readers, const Cancelled&, QueryProgress&) {
                   return load_pictures(readers.of(path, generation), workload, layer, step, axis, make_lost);
                 });
    mask.ask(session.workers(), key,
             [path = of.file->path, generation = of.file->generation, workload, layer = pass.layer, step, axis](
                 Readers& readers, const Cancelled&, QueryProgress&) {
               auto stored = stored_mask(readers.of(path, generation), workload, layer, step, axis);
               if (!stored)
                 throw Error(ErrorCode::kUsage, "the file has no mask of this layer pass", "choose another layer pass");
               return StepMask(*std::move(stored));
             });
  };
  ask_step(pass.step, pictures_, mask_);
  if (difference_) ask_step(other_step_, other_pictures_, other_mask_);
}

HeadsView::Panel HeadsView::ask_panel(Session& session, const Chosen& c, LayerPass pass, AttendedAxis axis) {
  Panel panel{.chosen = c, .large = nullptr};
  const auto mask = mask_.current() ? mask_.share() : nullptr;
  const auto other = difference_ && other_mask_.current() ? other_mask_.share() : nullptr;
  const int shown = head(session);
  Session::PassSlot& data = session.pass_data(c);
  if (!mask || shown >= mask->mask.heads() || !(data.current() || data.error() != nullptr)) return panel;
  auto& slot = large_[c.key];
  if (!slot) slot = std::make_unique<QuerySlot<LargeHead>>();
  const HeadColors colors{appearance_, owner_overlay_, by_ring_step_};
  slot->ask(session.workers(),
            fmt::format("{} {} {} {} {} {} {}", data_key(session, c, pass), spatial_, shown,
                        static_cast<int>(appearance_), owner_overlay_, by_ring_step_, other ? other_step_ : -1),
            [plan = data.current() ? data.value()->plan : nullptr, axis, mask, other, shown, colors](
                Readers&, const Cancelled&, QueryProgress&) {
              return large_head(plan, axis, mask->mask, other ? &other->mask : nullptr, shown, colors);
            });
  panel.large = slot->share();
  return panel;
}

void HeadsView::choose_first_head(const Session& session) {
  const auto* pictures = pictures_.value();
  const std::vector<double>& density = exact_density();
  if (density.empty() && (pictures == nullptr || !*pictures)) return;
  const std::vector<double>& shares = density.empty() ? (*pictures)->shade : density;
  const HeadRanks* ranks = ranks_.value();
  first_head_ = 0;
  double most = -1;
  for (std::size_t h = 0; h < shares.size(); ++h) {
    const bool attends = !session.selection().rank || ranks == nullptr || h >= ranks->of_head.size() ||
                         std::ranges::binary_search(ranks->of_head[h], *session.selection().rank);
    if (!attends || shares[h] <= most) continue;
    most = shares[h];
    first_head_ = static_cast<int>(h);
  }
}

const std::vector<double>& HeadsView::exact_density() {
  static const std::vector<double> kNone;
  return mask_.current() ? mask_.value()->density : kNone;
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
  appearance_ = ui.theme().appearance;
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
  ImGui::BeginGroup();
  if (!(*pictures)->thumbnails.empty()) draw_scale(ui, left - ui.px(16));
  ui.pane("grid", {.width = left, .height = ui.height_left(), .back = Token::kSurface, .padded = false}, [&] {
    draw_grid(ui, session, left - ui.px(16));
    if (is_slow(pictures_)) ui.dim(ui.clip());
  });
  ImGui::EndGroup();
  ui.same_line(12);
  ui.pane("panels", {.height = height, .back = Token::kSurface, .padded = false}, [&] {
    draw_panels(ui, session);
    if (is_slow(mask_) && mask_.value() != nullptr) ui.dim(ui.clip());
  });
}

void HeadsView::toolbar(Ui& ui, Session& session) {
  const float slider_width = ui.px(ui.width_left() < ui.px(940) ? 60 : 100);
  static const std::vector<std::string> kOrders = {"by head", "by density", "by tiles", "by owner"};
  int order = static_cast<int>(order_);
  if (ui.choice("order", kOrders, order, ui.px(112), "Order of the heads")) order_ = static_cast<Order>(order);
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
    flow(ui, 150);
    // The line above names both in full; the bar stays in one line in a small window.
    const std::string words = fmt::format("{} {}", std::string_view(name).ends_with("step") ? "step" : name, now);
    ui.text(words, {.face = Face::kSmall,
                    .ink = Token::kMuted,
                    .max_width = ui.text_width(words, Face::kSmall) + 2,
                    .beside = true});
    ui.same_line();
    if (!ui.slider(name, place, 0, static_cast<int>(all.size()) - 1, slider_width)) return std::nullopt;
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
    flow(ui, difference_ ? 190 : 110);
    ui.checkbox("difference", "Difference", difference_, "To the masks of another denoise step");
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

std::unique_ptr<View> make_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace spscope::gui
