// The scale below a map in the colours of densities: what they show, and what its ends mean.
#pragma once

#include <string>
#include <string_view>

#include "gui/ui/ui.h"

namespace spscope::gui {

void draw_color_scale(Ui& ui, std::string_view what, const std::string& low, const std::string& high);

}  // namespace spscope::gui
