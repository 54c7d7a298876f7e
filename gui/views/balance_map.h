// BalanceMap: a figure of all layer passes at once: layers down, denoise steps across, a map a strategy.
#pragma once

#include <map>
#include <vector>

#include "gui/platform/renderer.h"
#include "gui/views/view.h"

namespace spscope::gui {

struct MapFigure;

class BalanceMap {
 public:
  BalanceMap();
  // Nothing for one layer pass alone. A click on a cell goes to its timeline.
  void draw(Ui& ui, Session& session, const std::vector<Chosen>& chosen);
  // The figure of each layer pass of a strategy.
  Json dump(const StrategyResult& strategy) const;

 private:
  struct Scale;
  // The name of a strategy, and below it that of its file where several are shown. How high that is.
  static float draw_name(Ui& ui, const Chosen& c, const Scale& scale);
  static void draw_figure(Ui& ui, const Rect& area, const Scale& scale, const LayerResult& pass,
                          const std::string& text, double value);
  static void draw_numbers(Ui& ui, const Rect& area, const Scale& scale);
  void draw_one(Ui& ui, Session& session, const Chosen& c, const MapFigure& figure, const Scale& scale);

  std::map<StrategyKey, Texture> maps_;
  int figure_;  // in map_figures()
};

}  // namespace spscope::gui
