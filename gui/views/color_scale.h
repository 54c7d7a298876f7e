// The scale below a map in the colours of densities: what they show, and what its ends mean.
#pragma once

#include <string>
#include <string_view>

#include "gui/ui/ui.h"

namespace spscope::gui {

// `room`: how wide it may be; 0: as wide as what is left.
void draw_color_scale(Ui& ui, std::string_view what, const std::string& low, const std::string& high, float room = 0);

}  // namespace spscope::gui
