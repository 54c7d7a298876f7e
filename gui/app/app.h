// App: the window's content as a function of a session: top line, rail of views, the view with its table, details,
// status line, palette. It draws through Ui into whatever shows Dear ImGui's draw data; desktop.cpp gives it a window,
// headless.cpp a picture or a dump.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gui/app/key_map.h"
#include "gui/session/session.h"
#include "gui/session/settings.h"
#include "gui/ui/fonts.h"
#include "gui/ui/ui.h"
#include "gui/views/view.h"

namespace spscope::gui {

class App {
 public:
  // `answers`: how many questions are answered, one after the other; absent: all.
  App(Settings settings, std::function<void()> wake, std::optional<int> answers = {});
  ~App();

  Session& session() { return session_; }
  Settings& settings() { return session_.settings(); }
  Fonts& fonts() { return fonts_; }
  Theme theme(float monitor_scale) const;

  // One frame of `width` x `height` pixels between NewFrame and Render. `presses`: of keys, in order. Whether the next
  // frame is due at once.
  bool frame(const Theme& theme, float width, float height, std::span<const KeyPress> presses, UiDump* dump);
  // When it is due although nothing happens.
  std::optional<double> next_frame_s();
  // The numbers of a view, after a frame that drew it.
  Json view_dump(std::string_view view);
  // Files that were dropped on the window are opened.
  void drop(const std::vector<std::string>& paths);
  // "demo.db: Timeline – spscope"
  std::string title() const;
  bool wants_to_quit() const { return quit_; }
  // The user closes the window: at once, unless a run is going on.
  void ask_to_quit() { quit_asked_ = true; }

 private:
  void top_line(Ui& ui);
  void file_tabs(Ui& ui);
  void scope_line(Ui& ui);
  void strategies_menu(Ui& ui);
  void rail(Ui& ui, float width, float height);
  void main_pane(Ui& ui, float width, float height);
  void details_pane(Ui& ui, float height);
  void status_line(Ui& ui);
  void palette(Ui& ui);
  void keys_page(Ui& ui);
  void menu(Ui& ui);
  void run(Command command, Ui& ui);
  void banners(Ui& ui);
  void draw_warnings(Ui& ui);
  // Of files that have been read since the last frame: they count as recent, and links to them can be understood.
  void take_read_files();
  void ask_views_to_quit();
  View& view();

  Session session_;
  KeyMap keys_;
  std::vector<std::string> key_texts_;  // by command
  Fonts fonts_;
  std::map<std::string, std::unique_ptr<View>, std::less<>> views_;
  bool full_view_ = false, quit_asked_ = false, quit_ = false;
  enum class Palette { kNone, kCommands, kPlaces } palette_ = Palette::kNone;
  bool palette_opened_ = false, keys_opened_ = false;
  std::string palette_text_;
  int palette_at_ = 0;
  std::optional<Command> pending_;
  std::string details_of_;      // what the details were about in the last frame
  std::set<std::string> read_;  // paths of the open files with content
};

}  // namespace spscope::gui
