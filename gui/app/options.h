// The command line of spscope-gui.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/base/result.h"
#include "gui/session/link.h"

namespace spscope::gui {

struct Options {
  Link link;                                         // of all arguments together
  std::optional<std::string> screenshot, view_dump;  // the view
  std::optional<std::string> ui_dump;                // a file, "-" for standard output
  std::string output;                                // of --screenshot
  int width = 1440, height = 900;
  bool size_given = false;
  double scale = 1;
  bool scale_given = false;
  std::optional<bool> dark;
  std::optional<std::string> frame_times;  // a file: a line for each frame of a window
  std::optional<int> answers;              // so many questions are answered: what is shown while the others are asked
  std::optional<std::string> settings;     // another file of settings; "" for none
  bool help = false, version = false;

  bool headless() const { return screenshot || view_dump || (ui_dump && !window); }
  bool window = false;  // --ui-dump of a window, kept up to date
};

// Throws Error (kUsage) that names the argument at fault.
Options parse_options(const std::vector<std::string>& arguments);
std::string options_help();

}  // namespace spscope::gui
