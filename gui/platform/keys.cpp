#include "gui/platform/keys.h"

#include <array>

namespace spscope::gui {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({
#define KEY(id, name, glfw, imgui) name,
#include "gui/platform/keys.def"
#undef KEY
});

// Shift and a key that is a character of its own on most keyboards.
constexpr std::string_view kQuestion = "?";

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string_view key_name(Key key) { return kNames[static_cast<std::size_t>(key)]; }

std::string key_press_text(const KeyPress& press) {
  if (press.key == Key::kSlash && press.modifiers == Modifiers{.shift = true}) return std::string(kQuestion);
  std::string text;
  if (press.modifiers.ctrl) text += "Ctrl+";
  if (press.modifiers.alt) text += "Alt+";
  if (press.modifiers.shift) text += "Shift+";
  if (press.modifiers.super) text += "Super+";
  return text + std::string(key_name(press.key));
}

std::optional<KeyPress> parse_key_press(std::string_view text) {
  if (text == kQuestion) return KeyPress{.key = Key::kSlash, .modifiers = {.shift = true}};
  KeyPress press;
  for (bool again = true; again;) {
    again = false;
    for (const auto& [name, flag] : {std::pair<std::string_view, bool*>{"Ctrl+", &press.modifiers.ctrl},
                                     {"Alt+", &press.modifiers.alt},
                                     {"Shift+", &press.modifiers.shift},
                                     {"Super+", &press.modifiers.super}})
      if (take(text, name)) *flag = again = true;
  }
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) {
      press.key = static_cast<Key>(i);
      return press;
    }
  return std::nullopt;
}

}  // namespace spscope::gui
