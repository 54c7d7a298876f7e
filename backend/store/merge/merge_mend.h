// What is left of damaged tables must agree again before anybody reads it: figures of which a part is lost are not
// shown as if they were whole, and nothing refers to a row that is gone.
#pragma once

#include <span>

#include "backend/store/merge/merge_input.h"

namespace spscope {

// After all tables were copied and all events checked. A run whose plan or figures are lost in part becomes one that
// was begun and cut off; a repeat whose events may be lost uncounted has no timeline. Throws Error: `out` cannot be
// written.
void mend_tables(Database& out, std::span<const MergeSource> sources, Damage& damage);

}  // namespace spscope
