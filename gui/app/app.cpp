#include "gui/app/app.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <limits>

#include "gui/imgui_compat.h"
#include "gui/platform/renderer.h"

namespace spscope::gui {
namespace {

constexpr float kRailWidth = 130, kStatusHeight = 30, kLeastView = 230, kLeastTable = 64, kFoldedTable = 52;
// Threads that answer questions: one more than a laptop has cores to spare would slow the runs that are watched.
constexpr int kWorkers = 2;

// Round ones; settings may hold others.
constexpr double kScales[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3};
double next_scale(double now, int direction) {
  constexpr double kSame = 1e-3;
  if (direction > 0) {
    const auto* larger = std::ranges::find_if(kScales, [&](double s) { return s > now + kSame; });
    return larger != std::end(kScales) ? *larger : kScales[std::size(kScales) - 1];
  }
  double smaller = kScales[0];
  for (const double s : kScales)
    if (s < now - kSame) smaller = s;
  return smaller;
}

void set_style(const Theme& theme) {
  ImGuiStyle& style = ImGui::GetStyle();
  const auto color = [&](Token token, float opacity = 1) {
    return ImGui::ColorConvertU32ToFloat4(Ui::color(theme.color(token), opacity));
  };
  style.WindowPadding = {0, 0};
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 1;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 0;
  style.ItemSpacing = {theme.px(8), theme.px(5)};
  style.ItemInnerSpacing = {theme.px(6), theme.px(4)};
  style.IndentSpacing = theme.px(18);
  style.ScrollbarSize = theme.px(12);
  style.ScrollbarRounding = theme.px(6);
  style.GrabMinSize = theme.px(20);
  style.AntiAliasedLinesUseTex = false;
  style.Colors[ImGuiCol_Text] = color(Token::kInk);
  style.Colors[ImGuiCol_WindowBg] = color(Token::kPage);
  style.Colors[ImGuiCol_ScrollbarBg] = color(Token::kSurface, 0);
  style.Colors[ImGuiCol_ScrollbarGrab] = color(Token::kEdge, 0.55F);
  style.Colors[ImGuiCol_ScrollbarGrabHovered] = color(Token::kEdge, 0.8F);
  style.Colors[ImGuiCol_ScrollbarGrabActive] = color(Token::kAccent);
  style.Colors[ImGuiCol_NavHighlight] = color(Token::kAccent, 0);  // Ui draws its own
  style.Colors[ImGuiCol_ModalWindowDimBg] = color(Token::kPage, 0.6F);
}

}  // namespace

App::App(Settings settings, std::function<void()> wake, std::optional<int> answers)
    : session_(std::move(settings), answers ? 1 : kWorkers, std::move(wake),
               answers.value_or(std::numeric_limits<int>::max())),
      keys_(session_.settings().keys) {
  for (const ViewRow& row : view_rows()) views_.emplace(row.id, row.make());
  session_.on_close([this](int file) {
    for (const auto& [id, each] : views_) each->forget(file);
  });
  for (const CommandRow& row : command_rows()) key_texts_.push_back(keys_.keys_of(row.command));
}

App::~App() = default;

Theme App::theme(float monitor_scale) const {
  return {.appearance = session_.settings().is_dark() ? Appearance::kDark : Appearance::kLight,
          .scale = static_cast<float>(std::clamp(monitor_scale * session_.settings().user_scale, 0.5, 4.0))};
}

View& App::view() {
  const auto found = views_.find(session_.view());
  return found != views_.end() ? *found->second : *views_.at("start");
}

std::string App::title() const {
  const ViewRow* row = find_view(session_.view());
  std::string title = row != nullptr ? std::string(row->title) + " – spscope" : "spscope";
  const auto& files = session_.files();
  if (!files.empty())
    title = files[static_cast<std::size_t>(session_.active_file())]->name +
            (files.size() > 1 && !session_.scope().file ? " and others: " : ": ") + title;
  return shown(title);
}

std::optional<double> App::next_frame_s() {
  std::optional<double> next;
  for (const auto& [id, each] : views_)
    if (const auto due = each->next_frame_s();
        due && (each.get() == &view() || id == "run"))  // a run is always followed
      next = std::min(next.value_or(*due), *due);
  return next;
}

void App::ask_views_to_quit() {
  if (!quit_asked_) return;
  bool all = true;
  for (const auto& [id, view] : views_) {
    const View::Leave answer = view->may_quit(session_);
    if (answer == View::Leave::kNo) quit_asked_ = false;
    all &= answer == View::Leave::kYes;
  }
  quit_ = all;
}

Json App::view_dump(std::string_view name) {
  const auto found = views_.find(name);
  return found != views_.end() ? found->second->dump(session_) : Json();
}

void App::drop(const std::vector<std::string>& paths) {
  if (paths.size() == 1)
    return session_.go_to_file(paths.front(), session_.view() == "start" ? "overview" : session_.view());
  Link link = session_.here();
  link.files.insert(link.files.end(), paths.begin(), paths.end());
  if (link.view == "start") link.view.clear();
  link.scope.file.reset();
  session_.go(link);
}

void App::take_read_files() {
  std::set<std::string> now;
  for (const auto& file : session_.files()) {
    if (file->content() == nullptr) continue;
    now.insert(file->path);
    if (!read_.contains(file->path)) settings().add_recent(file->path);
  }
  read_ = std::move(now);
  session_.settle_names();
}

bool App::frame(const Theme& theme, float width, float height, std::span<const KeyPress> presses, UiDump* dump) {
  session_.workers().begin_frame();
  set_style(theme);
  ImGui::GetIO().ConfigInputTextCursorBlink = !settings().less_motion;
  if (dump != nullptr) dump->clear();
  Texture::keep_filters();
  Ui ui(theme, fonts_, dump);
  ui.name_keys(key_texts_);
  push_font(fonts_.font(Face::kBody));
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({width, height});
  ImGui::Begin("spscope", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoScrollWithMouse);
  const bool typing = ImGui::GetIO().WantTextInput;
  for (const KeyPress& press : presses)
    // A key that is held repeats what moves, and nothing that switches.
    if (const CommandRow* row = keys_.find(press, typing);
        row != nullptr && (!press.repeat || row->group == CommandGroup::time))
      run(row->command, ui);
  if (pending_) run(*std::exchange(pending_, std::nullopt), ui);
  take_read_files();
  for (const auto& [id, each] : views_) each->tick(session_);
  ask_views_to_quit();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  const float status = full_view_ ? 0 : theme.px(kStatusHeight);
  if (!full_view_) top_line(ui);
  const float left = full_view_ ? 0 : theme.px(kRailWidth), body = ui.height_left() - status;
  if (!full_view_) {
    rail(ui, left, body);
    ImGui::SameLine();
  }
  const bool details = settings().details && !full_view_ && view().has_details(session_);
  float beside = details ? theme.px(settings().details_width) : 0;
  beside = std::min(beside, std::max(0.F, (width - left) * 0.45F));
  const float divider = details ? theme.px(6) : 0;
  main_pane(ui, ui.width_left() - beside - divider, body);
  if (details) {
    ImGui::SameLine();
    const Rect place{ImGui::GetCursorScreenPos().x, ImGui::GetCursorScreenPos().y, 0, 0};
    ui.splitter("details splitter", true, beside, theme.px(180), (width - left) * 0.6F, true);
    settings().details_width = beside / theme.scale;
    ImGui::SetCursorScreenPos({place.left + divider, place.top});
    details_pane(ui, body);
  }
  if (!full_view_) {
    ImGui::SetCursorScreenPos({0, height - status});
    status_line(ui);
  }
  ImGui::PopStyleVar();
  palette(ui);
  keys_page(ui);
  ImGui::End();
  ImGui::PopFont();
  return ui.wants_another_frame() || fonts_.stale();
}

void App::main_pane(Ui& ui, float width, float height) {
  View& current = view();
  // In a low window the view comes before its table, which keeps its headings and a row, and folded has no line.
  const bool unfolded = settings().table;
  const bool has_room = unfolded || height >= ui.px(kLeastView + kFoldedTable + 6);
  const bool table = !full_view_ && has_room && current.has_table(session_);
  float below = !table     ? 0
                : unfolded ? std::clamp(std::min(ui.px(settings().table_height), height - ui.px(kLeastView)),
                                        ui.px(kLeastTable), std::max(ui.px(kLeastTable), height * 0.6F))
                           : ui.px(kFoldedTable);
  const Ui::Scope inside = ui.scope(session_.view());
  const float top = height - below - (table ? ui.px(6) : 0);
  ImGui::BeginGroup();
  ui.pane("main", {.width = width, .height = top, .back = Token::kSurface}, [&] {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(5)));
    banners(ui);
    const ViewRow* row = find_view(session_.view());
    if (row == nullptr || !row->needs_file || !draw_instead(ui, session_)) {
      current.draw(ui, session_);
    } else {
      current.draw_early(ui, session_);
    }
    ImGui::PopStyleVar();
  });
  if (table) {
    const ImVec2 from = ImGui::GetCursorScreenPos();
    // The splitter is as wide as the view, not as the window.
    ImGui::BeginChild("table splitter", {width, ui.px(6)}, false, ImGuiWindowFlags_NoScrollbar);
    if (unfolded) ui.splitter("table splitter", false, below, ui.px(80), height * 0.75F, true);
    ImGui::EndChild();
    if (unfolded) settings().table_height = below / ui.theme().scale;
    ImGui::SetCursorScreenPos({from.x, from.y + ui.px(6)});
    ui.pane("table", {.width = width, .height = below, .back = Token::kSurface}, [&] {
      ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(5)));
      bool ready = false;
      for (const auto& file : session_.files()) ready |= file->content() != nullptr;
      if (ready) current.draw_table(ui, session_);
      ImGui::PopStyleVar();
    });
  }
  ImGui::EndGroup();
}

void App::details_pane(Ui& ui, float height) {
  const Ui::Scope inside = ui.scope("details");
  ui.pane("pane", {.width = ui.width_left(), .height = height, .back = Token::kRaised}, [&] {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(ui.px(8), ui.px(5)));
    // Of something else the details are read from their top.
    const std::string of =
        session_.view() + " " + link_text({.files = {}, .view = "", .scope = {}, .selection = session_.selection()});
    if (std::exchange(details_of_, of) != of) {
      ImGui::SetScrollY(0);
      ui.again();
    }
    ui.heading("Details");
    bool ready = false;
    for (const auto& file : session_.files()) ready |= file->content() != nullptr;
    if (ready) {
      view().draw_details(ui, session_);
    } else {
      ui.note("Nothing is selected.");
    }
    ImGui::PopStyleVar();
  });
}

void App::banners(Ui& ui) {
  const auto& files = session_.files();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const OpenFile& file = *files[i];
    if (!file.changed.empty()) {
      const Ui::Scope inside = ui.scope("file " + file.name);
      const bool gone = file.changed.find("removed") != std::string::npos;
      if (ui.banner("changed", BannerTone::kWarning, file.name + ": " + file.changed + ".", gone ? "" : "Read again"))
        session_.reload(static_cast<int>(i));
    }
  }
  draw_warnings(ui);
}

void App::run(Command command, Ui& ui) {
  if (command >= Command::kView1 && command <= Command::kView8) {
    // In the order of the rail, after Start.
    const auto index = static_cast<std::size_t>(command) - static_cast<std::size_t>(Command::kView1) + 1;
    if (index < view_rows().size()) session_.show(std::string(view_rows()[index].id));
    return;
  }
  switch (command) {
    case Command::kOpenFile:
      session_.show("start");
      break;  // the view asks for the path
    case Command::kStart:
      session_.show("start");
      return;
    case Command::kCloseFile:
      session_.close(session_.scope().file.value_or(static_cast<int>(session_.files().size()) - 1));
      return;
    case Command::kReload:
      for (std::size_t i = 0; i < session_.files().size(); ++i) session_.reload(static_cast<int>(i));
      return;
    case Command::kBack:
      session_.go_back();
      return;
    case Command::kForward:
      session_.go_forward();
      return;
    case Command::kCopyLink:
      ImGui::SetClipboardText(link_text(session_.here()).c_str());
      session_.notice("The link to this place is on the clipboard.");
      return;
    case Command::kGoTo:
      palette_ = Palette::kPlaces;
      palette_opened_ = true;
      return;
    case Command::kPalette:
      palette_ = Palette::kCommands;
      palette_opened_ = true;
      return;
    case Command::kKeys:
      keys_opened_ = true;
      return;
    case Command::kFullView:
      full_view_ = !full_view_;
      return;
    case Command::kDetails:
      settings().details = !settings().details;
      return;
    case Command::kTable:
      settings().table = !settings().table;
      return;
    case Command::kTheme:
      settings().dark = !settings().is_dark();
      return;
    case Command::kMotion:
      settings().less_motion = !settings().less_motion;
      session_.notice(settings().less_motion ? "Nothing moves by itself now." : "What plays moves by itself again.");
      return;
    case Command::kScaleUp:
      settings().user_scale = next_scale(settings().user_scale, 1);
      return;
    case Command::kScaleDown:
      settings().user_scale = next_scale(settings().user_scale, -1);
      return;
    case Command::kScaleReset:
      settings().user_scale = 1;
      return;
    case Command::kCopy:
      if (!ImGui::GetIO().WantTextInput) ui.ask_copy();  // a field copies its own text
      return;
    case Command::kQuit:
      ask_to_quit();
      return;
    default:
      break;
  }
  view().run(command, ui, session_);
}

}  // namespace spscope::gui
