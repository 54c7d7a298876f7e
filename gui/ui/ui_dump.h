// UiDump: what a frame has drawn, as data: each text and each thing that can be clicked, with its rectangle and state.
// Tests find what they click by its path, and check looks (no text wider than its clip, targets that do not overlap)
// without comparing pixels.
#pragma once

#include <string>
#include <vector>

#include "backend/base/json.h"
#include "gui/ui/theme.h"

namespace spscope::gui {

struct Rect {
  float left = 0, top = 0, right = 0, bottom = 0;
  float width() const { return right - left; }
  float height() const { return bottom - top; }
  bool empty() const { return right <= left || bottom <= top; }
  bool holds(float x, float y) const { return x >= left && x < right && y >= top && y < bottom; }
  friend bool operator==(const Rect&, const Rect&) = default;
};
Rect common_part(const Rect& a, const Rect& b);

struct UiItem {
  std::string path;  // "overview/summary/sort makespan"
  std::string kind;  // text, button, link, checkbox, choice, field, row, mark, splitter, picture
  Rect rect, clip;   // in pixels of the window
  std::string text;  // what it says, whole
  float text_width = 0;
  bool elided = false;  // the text is cut with an ellipsis, and whole in a tooltip
  bool target = false;  // can be clicked
  bool disabled = false, focused = false, selected = false, hovered = false;
  std::string value;                          // of fields and choices
  std::string tooltip;                        // "" for none
  Rgb ink = 0, back = 0;                      // of texts and of outlines of marks
  bool large = false;                         // text of 18 points and more, or bold of 14: 3:1 suffices
  bool scrolls_x = false, scrolls_y = false;  // what lies outside of the clip can be reached
  int layer = 0;                              // windows above others: 0 the main one, 1 popups, 2 tooltips
};

class UiDump {
 public:
  void clear() { items_.clear(); }
  void add(UiItem item) { items_.push_back(std::move(item)); }
  const std::vector<UiItem>& items() const { return items_; }
  Json json() const;

 private:
  std::vector<UiItem> items_;
};

}  // namespace spscope::gui
