// --max-memory: the limit on the memory that input files can make this program allocate. Readers check sizes against it
// before they allocate; where the unpacked size of a file is known only afterwards, the process itself is capped.
#pragma once

#include <cstdint>
#include <string>

namespace spscope {

inline constexpr std::int64_t kDefaultMaxMemoryBytes = std::int64_t{8} << 30;

// "2 GiB", "1.5 MiB", "700 bytes"
std::string memory_text(std::int64_t bytes);

// Limits the private memory of this process (RLIMIT_DATA) to what it holds now plus `bytes`; beyond that, allocations
// throw std::bad_alloc. Does nothing where /proc/self/statm cannot be read.
void cap_process_memory(std::int64_t bytes);

}  // namespace spscope
