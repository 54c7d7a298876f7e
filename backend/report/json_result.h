// The object that `run --json` prints for one comparison, to be a part of another one.
#pragma once

#include "backend/analysis/comparison.h"
#include "backend/base/json.h"

namespace spscope {

// schemas/result.schema.json
Json result_json(const Comparison& comparison);

}  // namespace spscope
