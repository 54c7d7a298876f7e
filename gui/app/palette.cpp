// The palette: every command by its name, or every place (rank, layer pass, strategy, file); and the page of keys.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <functional>

#include "backend/base/letter_case.h"
#include "gui/app/app.h"
#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

struct Entry {
  std::string text, keys;
  std::function<void()> act;
};

// Whether each word of the question begins a word of the text, or is in it.
bool matches(const std::string& text, const std::string& question) {
  const std::string whole = lower_case(text);
  std::string word;
  for (const char c : lower_case(question) + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (whole.find(word) == std::string::npos) return false;
    word.clear();
  }
  return true;
}

constexpr int kMostShown = 14;

}  // namespace

void App::palette(Ui& ui) {
  const Ui::Scope inside = ui.scope("palette");
  if (palette_opened_) {
    palette_text_.clear();
    palette_at_ = 0;
    ui.open_popup("window");
  }
  const bool focus = std::exchange(palette_opened_, false);
  if (palette_ == Palette::kNone) return;
  std::vector<Entry> entries;
  if (palette_ == Palette::kCommands) {
    for (const CommandRow& row : command_rows())
      entries.push_back({std::string(row.title), keys_.keys_of(row.command), [this, &row] { pending_ = row.command; }});
  } else {
    for (const ViewRow& row : view_rows())
      entries.push_back({fmt::format("view {}", row.title), "", [this, &row] { session_.show(std::string(row.id)); }});
    for (std::size_t f = 0; f < session_.files().size(); ++f)
      entries.push_back({"file " + session_.files()[f]->path, "", [this, f] {
                           session_.look_at(session_.files().size() > 1 ? std::optional(static_cast<int>(f))
                                                                        : std::nullopt);
                           session_.show("overview");
                         }});
    int ranks = 0;
    for (const Chosen& c : session_.all_strategies()) {
      ranks = std::max(ranks, c.comparison->workload.ranks);
      entries.push_back({"strategy " + c.label, "", [this, key = c.key] {
                           Selection s = session_.selection();
                           s.strategy = key;
                           session_.select(s);
                         }});
    }
    for (const LayerPass& pass : session_.passes())
      entries.push_back({fmt::format("layer {} denoise step {}", pass.layer, pass.step), "", [this, pass] {
                           Scope scope = session_.scope();
                           scope.layer = pass.layer;
                           scope.step = pass.step;
                           session_.set_scope(scope);
                         }});
    for (int rank = 0; rank < ranks; ++rank)
      entries.push_back({fmt::format("rank {}", rank), "", [this, rank] {
                           Selection s = session_.selection();
                           s.rank = rank;
                           session_.select(s);
                         }});
  }
  std::vector<const Entry*> found;
  for (const Entry& entry : entries)
    if (matches(entry.text, palette_text_)) found.push_back(&entry);
  const bool open = ui.popup(
      "window",
      [&] {
        if (ui.field(
                "question", palette_text_,
                {.hint = palette_ == Palette::kCommands ? "Command" : "Rank, layer, strategy or file", .focus = focus}))
          palette_at_ = 0;
        // The field takes this key, too: once is enough for both.
        if (key_pressed(Key::kEscape)) return false;
        if (key_pressed(Key::kDown)) ++palette_at_;
        if (key_pressed(Key::kUp)) --palette_at_;
        palette_at_ = std::clamp(palette_at_, 0, std::max(0, static_cast<int>(found.size()) - 1));
        const bool enter = key_pressed(Key::kEnter);
        const int first = std::max(0, palette_at_ - kMostShown + 1);
        for (int i = first; i < std::min(static_cast<int>(found.size()), first + kMostShown); ++i) {
          const Entry& entry = *found[static_cast<std::size_t>(i)];
          const std::string label = entry.keys.empty() ? entry.text : entry.text + "    " + entry.keys;
          const bool pressed = ui.button(
              entry.text, label, {.quiet = true, .selected = i == palette_at_, .width = ui.width_left(), .left = true});
          if (!pressed && !(enter && i == palette_at_)) continue;
          entry.act();
          ui.again();
          return false;
        }
        if (found.empty()) ui.note("Nothing has this name.");
        if (static_cast<int>(found.size()) > kMostShown)
          ui.text(fmt::format("{} more", found.size() - kMostShown), {.face = Face::kSmall, .ink = Token::kMuted});
        return true;
      },
      true, ui.px(560));
  if (!open && !focus) palette_ = Palette::kNone;
}

void App::keys_page(Ui& ui) {
  const Ui::Scope inside = ui.scope("keys");
  if (std::exchange(keys_opened_, false)) ui.open_popup("window");
  ui.popup(
      "window",
      [&] {
        ui.heading("Keys");
        float widest = 0;
        for (const std::string& keys : key_texts_) widest = std::max(widest, ui.text_width(keys, Face::kMono));
        for (const CommandGroup group : {CommandGroup::app, CommandGroup::time, CommandGroup::play}) {
          ui.text(group_title(group), {.face = Face::kBold, .ink = Token::kMuted});
          for (const CommandRow& row : command_rows()) {
            const std::string keys = keys_.keys_of(row.command);
            if (row.group != group || keys.empty()) continue;
            ui.text(keys, {.face = Face::kMono, .max_width = widest + 1});
            ImGui::SameLine(widest + ui.px(24));
            ui.text(row.title);
          }
        }
        ui.note(
            "On a timeline the wheel zooms at the pointer. Dragging moves, as Shift and the wheel do. Ctrl and "
            "dragging "
            "selects a range. You set other keys for a command in the file of settings.");
        return true;
      },
      true, ui.px(700));
}

}  // namespace spscope::gui
