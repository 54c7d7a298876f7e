// KeyMap: which keys run which command: those of commands.def, or those that the user gave.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/platform/keys.h"
#include "gui/views/view.h"

namespace spscope::gui {

enum class CommandGroup { app, time, play };

struct CommandRow {
  Command command;
  std::string_view id;  // "kZoomIn"
  CommandGroup group;
  std::string_view title, keys;
};
std::span<const CommandRow> command_rows();
std::string_view group_title(CommandGroup group);

class KeyMap {
 public:
  // `changed`: keys by id of a command, in the form of commands.def; what is not understood is left out.
  explicit KeyMap(const std::map<std::string, std::string>& changed = {});
  // The command of a press. `typing`: text is being entered, so that only keys with Ctrl or Alt, and function keys
  // count.
  const CommandRow* find(const KeyPress& press, bool typing) const;
  // "Ctrl+P", "? or F1"; "" when it has none.
  std::string keys_of(Command command) const;

 private:
  struct Bound {
    KeyPress press;
    const CommandRow* row;
  };
  std::vector<Bound> bound_;
};

}  // namespace spscope::gui
