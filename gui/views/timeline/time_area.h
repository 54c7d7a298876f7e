// TimeArea: what a timeline has whatever its rows show: the axis with its ruler and minimap, the pointer that zooms,
// moves and measures, the commands that do the same, and the field that goes to a time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gui/session/session.h"
#include "gui/ui/ui.h"
#include "gui/views/timeline/axis.h"
#include "gui/views/view.h"

namespace spscope::gui {

class TimeArea {
 public:
  TimeAxis axis;

  // Buttons to zoom, and to select a range.
  void buttons(Ui& ui);
  // Whether the buttons of a timeline share a line so short that words in it are cut and the field of a time only comes
  // with its command: in a window 1280 wide. Before the first button.
  static bool is_narrow(const Ui& ui);
  // Whether a line has room for a third of the buttons, so that the field to find names, too, only comes with its
  // command.
  static bool is_tiny(const Ui& ui);
  // Of a field to find names, in what is left of the line.
  static float find_width(const Ui& ui, bool narrow);
  // The field of a time, and beside it why what it holds is none.
  void time_field(Ui& ui, bool narrow);
  // Leaves the gutter free for names of rows.
  void place(Ui& ui);
  void ruler(Ui& ui);
  // A small picture of all time, with a frame around what is shown. `paint` fills a rectangle, whose width is that of
  // all.
  void minimap(Ui& ui, const std::function<void(const Rect&)>& paint);
  // Where a time is on the minimap.
  float minimap_x(const Rect& rect, double ns) const;
  // `snapped`: the nearest edge of what is under the pointer to a time, at most so far away, else the time itself.
  using Snap = std::function<std::int64_t(std::int64_t ns, std::int64_t most_ns)>;
  void take_pointer(Ui& ui, Session& session, const Rect& area, const Snap& snapped);
  // The range that is selected or being dragged, and the time that was gone to.
  void draw_marks(Ui& ui, const Rect& area, const std::optional<TimeRange>& selected) const;
  bool run(Command command);
  // To a range, with a margin; with `toggles`, to all when it is there already; without a range, to all.
  void fit(const std::optional<TimeRange>& range, bool toggles);
  // Whether the pointer measures: what is under it is not meant.
  bool measuring() const { return dragged_.has_value(); }

 private:
  void go_to_time();

  bool selecting_ = false, focus_time_ = false, time_shown_ = false;
  std::optional<TimeRange> dragged_;
  std::string time_text_, time_problem_;
  std::optional<std::int64_t> gone_to_ns_;
};

}  // namespace spscope::gui
