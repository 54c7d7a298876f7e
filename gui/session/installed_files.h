// Files that come with the program, found from where it is: <prefix>/bin/spscope-gui, <prefix>/share/spscope.
#pragma once

#include <string>

namespace spscope::gui {

// "" where they are not.
std::string demo_path();
std::string presets_folder();
// The program `spscope` beside this one, else the one on the PATH.
std::string spscope_program();

}  // namespace spscope::gui
