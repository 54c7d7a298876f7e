#include "gui/app/key_map.h"

#include <algorithm>
#include <array>

namespace spscope::gui {
namespace {

constexpr auto kCommandRows = std::to_array<CommandRow>({
#define COMMAND(id, group, title, keys) {Command::id, #id, CommandGroup::group, title, keys},
#include "gui/app/commands.def"
#undef COMMAND
});

std::vector<KeyPress> presses_of(std::string_view keys) {
  std::vector<KeyPress> presses;
  while (!keys.empty()) {
    const std::size_t blank = keys.find(' ');
    if (const auto press = parse_key_press(keys.substr(0, blank))) presses.push_back(*press);
    keys.remove_prefix(blank == std::string_view::npos ? keys.size() : blank + 1);
  }
  return presses;
}

bool is_function_key(Key key) { return key >= Key::kF1 && key <= Key::kF12; }

}  // namespace

std::span<const CommandRow> command_rows() { return kCommandRows; }

std::string_view group_title(CommandGroup group) {
  switch (group) {
    case CommandGroup::app:
      return "Everywhere";
    case CommandGroup::time:
      return "Timeline";
    case CommandGroup::play:
      return "Heads";
  }
  return {};
}

KeyMap::KeyMap(const std::map<std::string, std::string>& changed) {
  for (const CommandRow& row : kCommandRows) {
    const auto own = changed.find(std::string(row.id));
    for (const KeyPress& press : presses_of(own != changed.end() ? std::string_view(own->second) : row.keys))
      bound_.push_back({press, &row});
  }
}

const CommandRow* KeyMap::find(const KeyPress& press, bool typing) const {
  if (typing && !press.modifiers.ctrl && !press.modifiers.alt && !is_function_key(press.key)) return nullptr;
  for (const Bound& bound : bound_)
    if (bound.press.key == press.key && bound.press.modifiers == press.modifiers) return bound.row;
  return nullptr;
}

std::string KeyMap::keys_of(Command command) const {
  std::string text;
  for (const Bound& bound : bound_)
    if (bound.row->command == command) text += (text.empty() ? "" : " or ") + key_press_text(bound.press);
  return text;
}

}  // namespace spscope::gui
