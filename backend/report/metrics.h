// The definitions of all numbers of a report: rows of backend/store/figures.def with a title.
#pragma once

#include <span>

#include "backend/report/document.h"
#include "backend/store/figures.h"

namespace spscope {

// In the order of figures.def.
std::span<const Definition> metrics();
// Its title; "" for an id that is not in the table.
std::string metric_title(std::string_view id);

// The id of a figure's definition: its name without the unit.
std::string metric_of(std::string_view figure);
// The heading of a figure's column, its title in lower case, and how its cells are shown.
std::string heading_of(const FigureRow& figure);
Hint hint_of(const FigureRow& figure);

}  // namespace spscope
