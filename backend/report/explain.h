// What `spscope explain` prints: an explanation as sections of a report, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/explanation.h"
#include "backend/report/document.h"

namespace spscope {

// The layer pass and who wins it, then a section for each strategy.
std::vector<Section> explanation_sections(const Explanation& explanation);

// schemas/explanation.schema.json, with a line break at the end.
std::string render_json(const Explanation& explanation);

}  // namespace spscope
