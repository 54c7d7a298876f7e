// Small text files: reading with a limit, and writing so that a reader never sees half a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "backend/base/result.h"

namespace spscope {

// The whole file, or an error when it is missing, a folder, unreadable or longer than `max_bytes`.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);
// Writes beside `path` and renames. Throws Error (kStoreWrite); the old file then stays as it was.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace spscope
