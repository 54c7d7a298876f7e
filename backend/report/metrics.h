// The definitions of all metrics: rows of metrics.def, and of figures.def with a heading.
#pragma once

#include <span>

#include "backend/report/document.h"

namespace spscope {

// In the order of metrics.def, then of figures.def.
std::span<const Definition> metrics();
// Its title; "" for an id that is not in the table.
std::string metric_title(std::string_view id);

// How a figure is shown, by the unit that ends its name.
Hint hint_of(std::string_view figure);

}  // namespace spscope
