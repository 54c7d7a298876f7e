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

  // Before the first button of a timeline. Whether the buttons share a line so short that words in it are cut: in a
  // window 1280 wide.
  bool begin_toolbar(const Ui& ui);
  // Whether the view is so small that the fields to find names and to go to a time only come with their commands.
  bool is_tiny() const { return tiny_; }
  // Buttons to zoom, and to select a range.
  void buttons(Ui& ui);
  // To where a field to find names stands, in what is left of the line or in the next one. How wide it is.
  static float flow_to_find(Ui& ui);
  // The field of a time, behind that, and beside it why what it holds is none. Where it alone would need another line
  // it only comes with its command.
  void time_field(Ui& ui);
  static constexpr float kGutter = 150;  // for the names of rows, in the design's pixels
  // Leaves the gutter free.
  void place(Ui& ui, float gutter);
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
  bool tiny_ = false;
  float toolbar_top_ = 0;
  std::optional<TimeRange> dragged_;
  std::string time_text_, time_problem_;
  std::optional<std::int64_t> gone_to_ns_;
};

}  // namespace spscope::gui
