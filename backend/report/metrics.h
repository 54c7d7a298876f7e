// The definitions of all metrics (metrics.def).
#pragma once

#include <span>

#include "backend/report/document.h"

namespace spscope {

// In the order of metrics.def.
std::span<const Definition> metrics();
// Its title; "" for an id that is not in the table.
std::string metric_title(std::string_view id);

}  // namespace spscope
