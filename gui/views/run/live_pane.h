// LivePane: the timeline of a run in progress: a strip for each rank and each device or thread that is watched, which
// follows the newest events until the user stops it to look at something.
#pragma once

#include <string>
#include <vector>

#include "backend/collect/run_watch.h"
#include "gui/launch/live_strips.h"
#include "gui/session/session.h"
#include "gui/ui/ui.h"
#include "gui/views/timeline/axis.h"
#include "gui/views/timeline/strip_picture.h"

namespace spscope::gui {

class LivePane {
 public:
  // Once a frame while the run that writes `out` goes on.
  void follow(Workers& workers, const std::string& out);
  // `now`: what the ranks do at the moment; nullptr while nothing is known. Draws nothing before there are events.
  void draw(Ui& ui, const std::string& out, const WatchedRun* now);
  // What it has drawn, exact. Null when it has drawn nothing since the last follow().
  Json dump();

 private:
  void buttons(Ui& ui);
  void take_pointer(const Hit& hit);
  void strips(Ui& ui, const Rect& rect, const LivePicture& picture, float gutter);
  void tell(Ui& ui, const Rect& rect, const LivePicture& picture, const WatchedRun* now);
  void zoom(double factor, float x);

  LiveStrips strips_;
  StripPicture picture_;
  TimeAxis axis_;
  LiveWindow window_;
  bool drawn_ = false;
};

}  // namespace spscope::gui
