// Everything that a reader of a store can be asked for.
#pragma once

#include <string>
#include <string_view>

#include "backend/store/store_reader.h"

namespace spscope::fuzz {

// Each part is tried, also after another was refused, and one view in SQL. Throws what the constructor throws, and
// Error kInternal.
void read_store(const std::string& path, std::string_view view);

}  // namespace spscope::fuzz
