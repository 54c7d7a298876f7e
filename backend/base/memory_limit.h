// --max-memory: how much memory the files of others may make this program hold. Readers compare sizes with it before
// they allocate; where what a file unfolds to is known only afterwards, the process itself is capped.
#pragma once

#include <cstdint>
#include <string>

namespace spscope {

inline constexpr std::int64_t kDefaultMaxMemoryBytes = std::int64_t{8} << 30;

// "2 GiB", "1.5 MiB", "700 bytes"
std::string memory_text(std::int64_t bytes);

// From here on this process may take that much more private memory; beyond it, allocation fails (std::bad_alloc).
// Does nothing where the system cannot say how much it holds.
void cap_process_memory(std::int64_t bytes);

}  // namespace spscope
