// The window: draws a frame when something happened, and sleeps else.
#pragma once

#include "gui/app/options.h"

namespace spscope::gui {

// Returns the exit code when the window was closed. Throws Error: there is no display.
int run_desktop(const Options& options);

}  // namespace spscope::gui
