// The share of --max-memory that SQLite sees.
#pragma once

#include <cstdint>

namespace spscope {

// All connections of this process together; SQLite keeps the limit for the process. A statement that needs more fails
// with Error kStoreOpen, which names the file.
void limit_store_memory(std::int64_t bytes);

}  // namespace spscope
