// What the tests of printed reports look for.
#pragma once

#include <string>

namespace spscope {

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace spscope
