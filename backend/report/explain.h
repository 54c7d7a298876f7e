// What `spscope explain` prints: an explanation as sections of a report, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/explanation.h"
#include "backend/report/document.h"

namespace spscope {

// The answer: who is fastest in the layer pass, why each other strategy is slower, and what would help it. Then a
// section for the fastest and one for the strategy whose ranks wait longest: who waits for whom, and what would help.
// Or one for each, with longer tables, and with the terms and the path of its time.
enum class ShownStrategies { kTwo, kAll };
std::vector<Section> explanation_sections(const Explanation& explanation, ShownStrategies shown);

// schemas/explanation.schema.json, with a line break at the end.
std::string render_json(const Explanation& explanation);

}  // namespace spscope
