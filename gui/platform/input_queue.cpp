#include "gui/platform/input_queue.h"

#include <algorithm>
#include <cfloat>
#include <iterator>
#include <optional>
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
    if (!e.repeat && changed_keys_.contains(e.key)) return false;
    if (!hold(e.modifiers)) return false;
    if (!e.repeat) changed_keys_.insert(e.key);
    if (!e.repeat) feed_key(io_, e.key, e.down);
    if (e.down) input_.presses.push_back({e.key, e.modifiers, e.repeat});
    input_.actions += e.down ? 1 : 0;
    return true;
  }
  bool take(InputEvent::ModifierChange& e) {
    if (held_ && *held_ != e.modifiers) return false;
    feed_modifiers(io_, e.modifiers);
    return true;
  }
  bool take(InputEvent::Character& e) {
    io_.AddInputCharacter(e.code);
    return true;
  }
  bool take(InputEvent::Button& e) {
    // A drag that ends in the same breath: a frame shows how far it came before the button is up.
    if ((moved_ && !e.down) || changed_buttons_.contains(e.button) || !hold(e.modifiers)) return false;
    changed_buttons_.insert(e.button);
    ++input_.actions;
    feed_button(io_, e.button, e.down);
    return true;
  }
  bool take(InputEvent::Move& e) {
    if (acted_here()) return false;
    moved_ = true;
    feed_mouse(io_, e.x, e.y);
    return true;
  }
  bool take(InputEvent::Wheel& e) {
    if (!hold(e.modifiers)) return false;
    feed_wheel(io_, e.x, e.y);
    wheeled_ = true;
    ++input_.actions;
    return true;
  }
  bool take(InputEvent::Focus& e) {
    feed_focus(io_, e.focused);
    return true;
  }
  bool take(InputEvent::Leave&) {
    if (acted_here()) return false;
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
  bool take(InputEvent::Redraw&) { return true; }

 private:
  // The pointer stays where a button or the wheel was used.
  bool acted_here() const { return !changed_buttons_.empty() || wheeled_; }
  // Dear ImGui sees the modifiers as they are at the end of a frame, so all that a frame takes has the same ones.
  bool hold(const Modifiers& modifiers) {
    if (held_ && *held_ != modifiers) return false;
    held_ = modifiers;
    feed_modifiers(io_, modifiers);
    return true;
  }

  ImGuiIO& io_;
  FrameInput& input_;
  std::set<Key> changed_keys_;
  std::set<int> changed_buttons_;
  bool wheeled_ = false, moved_ = false;
  std::optional<Modifiers> held_;
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
