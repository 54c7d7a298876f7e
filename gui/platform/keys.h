// Keys: the keys that commands can have, apart from any window library, and their names: "Ctrl+Shift+P".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace spscope::gui {

enum class Key {
#define KEY(id, name, glfw, imgui) k##id,
#include "gui/platform/keys.def"
#undef KEY
};

struct Modifiers {
  bool ctrl = false, shift = false, alt = false, super = false;
  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

struct KeyPress {
  Key key = Key::kA;
  Modifiers modifiers = {};
  bool repeat = false;  // made by holding the key
};

// "Ctrl+Shift+P", "?": the text that parse_key_press reads.
std::string key_press_text(const KeyPress& press);
// Nothing when it is not understood.
std::optional<KeyPress> parse_key_press(std::string_view text);
// The name of a key: "Left", "Comma".
std::string_view key_name(Key key);

}  // namespace spscope::gui
