// View: one page of the window. A view draws its main pane, its table below and the details of the selection beside,
// asks its questions through query slots, and says its numbers as JSON (--view-dump). A view is one class in files of
// its own and a row of views.def.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/base/json.h"
#include "gui/session/session.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

enum class Command {
#define COMMAND(id, group, title, keys) id,
#include "gui/app/commands.def"
#undef COMMAND
};

class View {
 public:
  virtual ~View() = default;
  // The content of the main pane. Asks the questions of the view.
  virtual void draw(Ui& ui, Session& session) = 0;
  // What can be shown below the bars of files that are still read, when no file is ready.
  virtual void draw_early(Ui&, Session&) {}
  // Whether there is a table below; it has a pane of its own, which the user sizes. Folded it is one line, by which it
  // is unfolded (Settings::table).
  virtual bool has_table(Session&) { return false; }
  virtual void draw_table(Ui&, Session&) {}
  // What the pane of details says of the selection, and whether there is anything to say.
  virtual bool has_details(const Session&) { return true; }
  virtual void draw_details(Ui&, Session&) {}
  // Whether the view has taken the command.
  virtual bool run(Command, Ui&, Session&) { return false; }
  // The numbers on the screen, exact, in base units. After draw().
  virtual Json dump(Session& session) = 0;
  // When the next frame is due although nothing happens, as while something plays; nothing: not at all.
  virtual std::optional<double> next_frame_s() { return std::nullopt; }
  // Once a frame, also while another view is shown.
  virtual void tick(Session&) {}
  // A file was closed: keys of strategies that the view keeps follow (outlives()).
  virtual void forget(int /*closed_file*/) {}
  // Whether the window may close; asked again in each frame while it is kAsking: the view asks the user then.
  enum class Leave { kYes, kAsking, kNo };
  virtual Leave may_quit(Session&) { return Leave::kYes; }
};

struct ViewRow {
  std::string_view id, title;
  std::unique_ptr<View> (*make)();
  bool needs_file;  // shows nothing without an open file
};
// How many events of a program that was observed are not in its file: "none", "4", "at least 4", "unknown".
std::string lost_text(const Observation& observation);
// The same in words, with what each collector lost of them; "" for nothing.
std::string lost_events_text(const Observation& observation);

// In the order of the rail.
std::span<const ViewRow> view_rows();
// The row of an id; nullptr for none.
const ViewRow* find_view(std::string_view id);

// -- shared by views

// What to draw instead of the view: no file, a file that loads, an error, no strategy. True when something was drawn.
bool draw_instead(Ui& ui, Session& session);
// An error with its number, how to mend it, and Copy.
void draw_error(Ui& ui, std::string_view name, const Error& error);
// Like same_line, but on a new line when less than `design` pixels are left.
void flow(Ui& ui, float design);
// The next step for somebody who sees these files for the first time, in a line with a button; nothing once it was
// taken. True when the button is pressed.
bool draw_hint(Ui& ui, Session& session, std::string_view id, std::string_view words, std::string_view action);
// Whether a hint was taken, and that it is, by its button or otherwise.
bool took_hint(const Session& session, std::string_view id);
void take_hint(Session& session, std::string_view id);
// What a control does with the keys that do the same: "Zoom in (W)".
std::string key_tip(const Ui& ui, std::string_view words, Command command);
// The layer pass in which a strategy took longest; nothing when it has no times.
std::optional<LayerPass> slowest_pass_of(const StrategyResult& strategy);
// Of a strategy whose loss over all layer passes is to be seen in one: the pass that is looked at stays, as `spscope
// explain` shows it, where the strategy has run it; else it is the strategy's slowest.
void keep_pass_of(const Session& session, const StrategyResult& strategy, Scope& scope);
// Whether a question has taken so long that the old answer is shown dimmed: a shorter time would flicker.
template <typename T>
bool is_slow(QuerySlot<T>& slot) {
  return slot.loading() && slot.loading_s() >= 0.1;
}
// Words over old rows while a question takes longer than 0.3 s; with Cancel.
template <typename T>
void draw_loading(Ui& ui, std::string_view name, QuerySlot<T>& slot, std::string_view words) {
  if (!slot.loading() || slot.loading_s() < 0.3) return;
  if (ui.progress(name, slot.progress(), words, true)) slot.cancel();
}

}  // namespace spscope::gui
