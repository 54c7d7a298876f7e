// The rule for outputs that are not stored runs: a file is replaced only when asked, a stored run or a folder never.
#pragma once

#include <string>

namespace spscope {

// Throws Error kStoreExists when `path` holds a stored run, or any file unless `force`, and kOutputPlace when it is no
// file that could be replaced or none can be made there.
void require_replaceable(const std::string& path, bool force);

}  // namespace spscope
