// The rail of views at the left, and the status line below: what is shown, and how far it can be trusted.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <set>

#include "backend/analysis/mode_group.h"
#include "backend/base/number_text.h"
#include "backend/report/headline.h"
#include "gui/app/app.h"

namespace spscope::gui {

void App::rail(Ui& ui, float width, float height) {
  const Ui::Scope inside = ui.scope("rail");
  ui.pane("views", {.width = width, .height = height, .back = Token::kRail, .padded = false, .fixed = true}, [&] {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, ui.px(4)));
    ui.space(4);
    for (const ViewRow& row : view_rows()) {
      ImGui::SetCursorPosX(ui.px(8));
      const bool here = session_.view() == row.id;
      const auto number = static_cast<int>(&row - view_rows().data());  // Start, then in the order of their keys
      const auto command =
          number == 0 ? Command::kStart : static_cast<Command>(static_cast<int>(Command::kView1) + number - 1);
      // Its keys stand in the button: a tooltip would cover the view. Those that the user gave may be too long.
      const std::string_view keys = ui.keys(static_cast<std::size_t>(command));
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const float button = width - ui.px(16), room = button - ui.text_width(row.title) - ui.px(18);
      const bool fits = ui.text_width(keys, Face::kSmall) <= room;
      const std::string tip = fits ? "" : key_tip(ui, row.title, command);
      if (ui.button(row.id, row.title,
                    {.quiet = true, .selected = here, .tooltip = tip, .width = button, .left = true}))
        session_.show(std::string(row.id));
      if (fits)
        ui.text_at(from.x + button - room - ui.px(4), from.y + ui.px(5), keys,
                   {.face = Face::kSmall, .ink = Token::kMuted, .max_width = room + 1, .right = true},
                   here ? std::optional(ui.theme().color(Token::kSelected)) : std::nullopt);
    }
    ImGui::SetCursorPos({ui.px(8), std::max(ImGui::GetCursorPosY(), height - ui.theme().target() - ui.px(8))});
    if (ui.button("menu", "Menu",
                  {.quiet = true,
                   .tooltip = "All that can be done, with its keys",
                   .width = width - ui.px(16),
                   .left = true}))
      ui.open_popup("commands");
    menu(ui);
    ImGui::PopStyleVar();
  });
}

// The commands that are not views, which the rail has, nor of one view.
void App::menu(Ui& ui) {
  ui.popup("commands", [&] {
    float words = 0, keys = 0;
    const auto is_here = [](const CommandRow& row) {
      return row.group == CommandGroup::app && !(row.command >= Command::kView1 && row.command <= Command::kStart);
    };
    for (const CommandRow& row : command_rows()) {
      if (!is_here(row)) continue;
      words = std::max(words, ui.text_width(row.title));
      keys = std::max(keys, ui.text_width(ui.keys(static_cast<std::size_t>(row.command)), Face::kSmall));
    }
    for (const CommandRow& row : command_rows()) {
      if (!is_here(row)) continue;
      if (row.command == Command::kScaleUp)
        ui.text(fmt::format("Size of texts and controls: {:.0f} %", 100 * settings().user_scale),
                {.face = Face::kSmall, .ink = Token::kMuted});
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const float width = words + keys + ui.px(40);
      if (ui.button(row.id, row.title, {.quiet = true, .width = width, .left = true})) {
        pending_ = row.command;
        ui.again();
        // Sizes are tried one after the other.
        return row.command == Command::kScaleUp || row.command == Command::kScaleDown;
      }
      ui.text_at(from.x, from.y + ui.px(5), ui.keys(static_cast<std::size_t>(row.command)),
                 {.face = Face::kSmall, .ink = Token::kMuted, .max_width = width - ui.px(6), .right = true});
    }
    return true;
  });
}

void App::status_line(Ui& ui) {
  const Ui::Scope inside = ui.scope("status");
  ui.pane("line",
          {.width = ui.width_left(), .height = ui.height_left(), .back = Token::kRail, .padded = false, .fixed = true},
          [&] {
            ImGui::SetCursorPos({ui.px(12), ui.px(5)});
            std::set<std::string> lines;
            bool known = false;
            std::int64_t events = 0, missing = 0;
            for (std::size_t f = 0; f < session_.files().size(); ++f) {
              const FileContent* content = session_.files()[f]->content();
              if (content == nullptr || !session_.in_scope(static_cast<int>(f))) continue;
              for (const Comparison& c : content->comparisons)
                for (const ModeGroup& group : by_mode(c))
                  if (const std::string line = provenance_line(group); !line.empty()) lines.insert(line);
              for (const Observation& o : content->observed) {
                lines.insert("observed, all times measured");
                known = true;
                events += o.recording.events_stored;
                missing += o.recording.events_missing();
              }
              if (content->comparisons.empty()) continue;
              known = true;
              events += content->comparisons.front().recording.events_stored;
              missing += content->comparisons.front().recording.events_missing();
            }
            std::string words;
            for (const std::string& line : lines) words += (words.empty() ? "" : "; ") + line;
            if (known)
              words += fmt::format("{}{} events", words.empty() ? "" : " | ", count_text(static_cast<double>(events)));
            if (missing > 0) words += fmt::format(", {} missing", count_text(static_cast<double>(missing)));
            if (session_.files().empty()) words = "no file is open";
            const float notices = ui.px(420);
            ui.text(words, {.face = Face::kSmall,
                            .ink = Token::kMuted,
                            .max_width = std::max(ui.px(80), ui.width_left() - notices)});
            if (session_.notices().empty()) return;
            ui.same_line(16);
            const Notice& last = session_.notices().back();
            ui.text(last.text, {.face = Face::kSmall,
                                .ink = last.bad ? Token::kWarn : Token::kInk,
                                .max_width = ui.width_left() - ui.px(12),
                                .right = true});
          });
}

}  // namespace spscope::gui
