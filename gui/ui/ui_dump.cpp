#include "gui/ui/ui_dump.h"

#include <fmt/format.h>

#include <algorithm>

namespace spscope::gui {
namespace {

Json json_of(const Rect& r) { return Json::array({r.left, r.top, r.right, r.bottom}); }

}  // namespace

Rect common_part(const Rect& a, const Rect& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right), std::min(a.bottom, b.bottom)};
}

Json UiDump::json() const {
  Json list = Json::array();
  for (const UiItem& i : items_) {
    Json item = Json::object();
    item["path"] = i.path;
    item["kind"] = i.kind;
    item["rect"] = json_of(i.rect);
    item["clip"] = json_of(i.clip);
    item["text"] = i.text;
    item["text_width"] = i.text_width;
    item["elided"] = i.elided;
    item["target"] = i.target;
    item["disabled"] = i.disabled;
    item["focused"] = i.focused;
    item["selected"] = i.selected;
    item["hovered"] = i.hovered;
    item["value"] = i.value;
    item["tooltip"] = i.tooltip;
    item["ink"] = fmt::format("{:06x}", i.ink);
    item["back"] = fmt::format("{:06x}", i.back);
    item["large"] = i.large;
    item["scrolls_x"] = i.scrolls_x;
    item["scrolls_y"] = i.scrolls_y;
    item["layer"] = i.layer;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace spscope::gui
