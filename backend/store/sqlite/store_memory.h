// The share of --max-memory that SQLite sees.
#pragma once

#include <cstdint>

namespace spscope {

// All connections of this process together; SQLite keeps the limit for the process. A statement that needs more throws
// std::bad_alloc.
void limit_store_memory(std::int64_t bytes);

// The largest piece of memory that a connection asked for so far, given or refused.
std::int64_t largest_store_allocation();

}  // namespace spscope
