// The long help of each command, from help/<command>.md, built into the program.
#pragma once

#include <string_view>

namespace spscope {

// "" when the command has none.
std::string_view long_help(std::string_view command);

}  // namespace spscope
