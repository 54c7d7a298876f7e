// Small text files, read with a limit on their size.
#pragma once

#include <cstddef>
#include <string>

#include "backend/base/result.h"

namespace spscope {

// The whole file, or an error when it is missing, a folder, unreadable or longer than `max_bytes`.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

}  // namespace spscope
