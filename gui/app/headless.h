// Frames without a window: a picture of a view, its numbers, or its controls.
#pragma once

#include "gui/app/options.h"

namespace spscope::gui {

// Draws frames until every question of the view is answered, then writes what was asked for. Returns the exit code.
// Throws Error.
int run_headless(const Options& options);

}  // namespace spscope::gui
