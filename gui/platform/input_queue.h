// InputQueue: one ordered queue of everything that the user does. A frame takes as much of it as it can show: each key
// or button changes at most once in a frame, with one set of modifiers, and the pointer does not move between a press
// or a turn of the wheel and the frame that shows it, so that what came in one breath happens where and as it was made.
// The first event that must wait holds up all behind it. Shortcuts are counted from the queue, so that none is lost.
#pragma once

#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "gui/platform/keys.h"

struct ImGuiIO;

namespace spscope::gui {

struct InputEvent {
  struct KeyChange {
    Key key = Key::kA;
    bool down = false, repeat = false;
    Modifiers modifiers = {};
  };
  struct ModifierChange {  // a modifier went down or up
    Modifiers modifiers = {};
  };
  struct Character {
    unsigned code = 0;
  };
  struct Button {
    int button = 0;  // 0 left, 1 right, 2 middle
    bool down = false;
    Modifiers modifiers = {};
  };
  struct Move {
    float x = 0, y = 0;  // pixels of the window
  };
  struct Wheel {
    float x = 0, y = 0;
    Modifiers modifiers = {};
  };
  struct Focus {
    bool focused = false;
  };
  struct Leave {};
  struct Drop {
    std::vector<std::string> paths;
  };
  struct Close {};
  struct Redraw {};  // the window was uncovered, or its scale changed: a frame is due
  std::variant<KeyChange, ModifierChange, Character, Button, Move, Wheel, Focus, Leave, Drop, Close, Redraw> what;
};

struct FrameInput {
  std::vector<KeyPress> presses;     // in order, repeats among them
  std::vector<std::string> dropped;  // files
  int actions = 0;                   // buttons that changed, turns of the wheel, presses of keys
  bool close = false;
  bool more = false;  // the next frame has input already
};

class InputQueue {
 public:
  template <typename What>
  void push(What what) {
    events_.push_back({std::move(what)});
  }
  bool empty() const { return events_.empty(); }
  // Feeds one frame, before NewFrame.
  FrameInput frame(ImGuiIO& io);

 private:
  std::deque<InputEvent> events_;
};

}  // namespace spscope::gui
