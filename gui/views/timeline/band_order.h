// The order of bands: of each workload first the strategy whose ranks wait longest for a late peer, then the others,
// the fastest first. So the first two bands show what is to be seen: who waits, and how it goes without.
#pragma once

#include <vector>

#include "gui/session/session.h"

namespace spscope::gui {

// File by file, workload by workload.
void order_bands(std::vector<Chosen>& strategies);

}  // namespace spscope::gui
