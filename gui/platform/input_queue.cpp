#include "gui/platform/input_queue.h"

#include <algorithm>
#include <cfloat>
#include <set>
#include <utility>

#include "gui/imgui_compat.h"

namespace spscope::gui {
namespace {

// What a frame has taken so far.
class Frame {
 public:
  Frame(ImGuiIO& io, FrameInput& input) : io_(io), input_(input) {}

  // False when the event must wait for the next frame.
  bool take(InputEvent::KeyChange& e) {
    // A second change of a key must wait; a repeat is no change.
    if (!e.repeat && !changed_keys_.insert(e.key).second) return false;
    feed_modifiers(io_, e.modifiers);
    if (!e.repeat) feed_key(io_, e.key, e.down);
    if (e.down) input_.presses.push_back({e.key, e.modifiers, e.repeat});
    return true;
  }
  bool take(InputEvent::Character& e) {
    io_.AddInputCharacter(e.code);
    return true;
  }
  bool take(InputEvent::Button& e) {
    if (!changed_buttons_.insert(e.button).second) return false;
    feed_modifiers(io_, e.modifiers);
    feed_button(io_, e.button, e.down);
    return true;
  }
  bool take(InputEvent::Move& e) {
    if (!changed_buttons_.empty() || wheeled_) return false;
    feed_mouse(io_, e.x, e.y);
    return true;
  }
  bool take(InputEvent::Wheel& e) {
    feed_modifiers(io_, e.modifiers);
    feed_wheel(io_, e.x, e.y);
    wheeled_ = true;
    return true;
  }
  bool take(InputEvent::Focus& e) {
    feed_focus(io_, e.focused);
    return true;
  }
  bool take(InputEvent::Leave&) {
    if (!changed_buttons_.empty()) return false;
    feed_mouse(io_, -FLT_MAX, -FLT_MAX);
    return true;
  }
  bool take(InputEvent::Drop& e) {
    std::ranges::move(e.paths, std::back_inserter(input_.dropped));
    return true;
  }
  bool take(InputEvent::Close&) {
    input_.close = true;
    return true;
  }

 private:
  ImGuiIO& io_;
  FrameInput& input_;
  std::set<Key> changed_keys_;
  std::set<int> changed_buttons_;
  bool wheeled_ = false;
};

}  // namespace

FrameInput InputQueue::frame(ImGuiIO& io) {
  FrameInput input;
  Frame frame(io, input);
  while (!events_.empty()) {
    if (!std::visit([&](auto& e) { return frame.take(e); }, events_.front().what)) break;
    events_.pop_front();
  }
  input.more = !events_.empty();
  return input;
}

}  // namespace spscope::gui
