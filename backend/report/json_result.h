// The object that `run --json` prints for one comparison, to be a part of another one.
#pragma once

#include <span>

#include "backend/analysis/comparison.h"
#include "backend/analysis/reason.h"
#include "backend/base/json.h"

namespace spscope {

// schemas/result.schema.json
Json result_json(const Comparison& comparison);
// Its "rank_waits": who was late in which step of which collective, and whom it held up.
Json waits_json(std::span<const RankWait> waits);

// Its "terms_ns": nanoseconds by the key of the term.
Json terms_json(const TimeTerms& terms);

// Of its "why_slower": cause, cause_ns, causes, shares, shared.
void add_causes(const Reason& reason, Json& object);

}  // namespace spscope
