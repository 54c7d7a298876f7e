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
      if (ui.button(row.id, row.title, {.quiet = true, .selected = here, .width = width - ui.px(16), .left = true}))
        session_.show(std::string(row.id));
    }
    ImGui::PopStyleVar();
  });
}

void App::help_menu(Ui& ui) {
  if (ui.button("help", "? Help", {.quiet = true, .tooltip = "Keys, commands, and how the window looks"}))
    ui.open_popup("help menu");
  ui.popup("help menu", [&] {
    constexpr Command kListed[] = {Command::kKeys,      Command::kPalette,   Command::kGoTo,   Command::kTheme,
                                   Command::kScaleDown, Command::kScaleUp,   Command::kScaleReset,
                                   Command::kMotion};
    for (const Command command : kListed) {
      const CommandRow& row = *std::ranges::find(command_rows(), command, &CommandRow::command);
      if (command == Command::kScaleDown)
        ui.text(fmt::format("Size of texts and controls: {:.0f} %", 100 * settings().user_scale), {.ink = Token::kMuted});
      const std::string label = fmt::format("{}    {}", row.title, keys_.keys_of(command));
      if (!ui.button(row.title, label, {.quiet = true, .width = ui.px(360), .left = true})) continue;
      pending_ = command;
      ui.again();
      // Sizes are tried one after the other.
      const bool sizes = command == Command::kScaleUp || command == Command::kScaleDown;
      return sizes;
    }
    return true;
  });
}

void App::status_line(Ui& ui) {
  const Ui::Scope inside = ui.scope("status");
  ui.pane("line",
          {.width = ui.width_left(), .height = ui.height_left(), .back = Token::kRail, .padded = false, .fixed = true},
          [&] {
            ImGui::SetCursorPos({ui.px(8), ui.px(3)});
            help_menu(ui);
            ui.same_line();
            ImGui::SetCursorPosY(ui.px(5));
            std::set<std::string> lines;
            std::int64_t events = 0, missing = 0;
            for (const auto& file : session_.files()) {
              const FileContent* content = file->content();
              if (content == nullptr) continue;
              for (const Comparison& c : content->comparisons)
                for (const ModeGroup& group : by_mode(c))
                  if (const std::string line = provenance_line(group); !line.empty()) lines.insert(line);
              if (content->comparisons.empty()) continue;
              events += content->comparisons.front().recording.events_stored;
              missing += content->comparisons.front().recording.events_missing();
            }
            std::string words;
            for (const std::string& line : lines) words += (words.empty() ? "" : "; ") + line;
            if (!session_.files().empty())
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
