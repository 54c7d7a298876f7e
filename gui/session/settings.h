// Settings: what the window remembers between starts, in $XDG_CONFIG_HOME/spscope/desktop.json (else below ~/.config).
// A file that cannot be read counts as none; one that cannot be written is said once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spscope::gui {

struct Settings {
  std::string folder;        // where they are kept, with what else is; "": nowhere
  std::optional<bool> dark;  // absent: as the desktop says
  bool desktop_dark = true;  // what that is; not kept
  double user_scale = 1;     // times that of the monitor, 0.5 to 3
  int width = 1440, height = 900;
  float details_width = 320, table_height = 260;  // in the design's pixels
  bool details = true, table = false;
  bool less_motion = false;                 // nothing moves by itself
  std::vector<std::string> recent;          // files, the last one opened first
  std::map<std::string, std::string> keys;  // of commands that have other keys than those of commands.def
  std::vector<std::string> used_hints;      // hints that have done their work, each for the files that were open
  std::vector<std::string> run_folders;     // that runs were written to, the last one first

  bool is_dark() const { return dark.value_or(desktop_dark); }
  void add_recent(const std::string& path);
  void add_run_folder(const std::string& folder);
};

// Where they are; "" when neither variable is set.
std::string settings_path();
Settings load_settings(const std::string& path);
// Why it was not written; "" when it was.
std::string save_settings(const Settings& settings, const std::string& path);

}  // namespace spscope::gui
