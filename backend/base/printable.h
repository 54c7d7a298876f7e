// Text for a terminal: what comes from a file may hold escape sequences.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// The text with U+FFFD for each control character, those of C1 in UTF-8 included; line breaks stay.
std::string printable(std::string_view text);
// The same for one line: line breaks are replaced, too.
std::string printable_line(std::string_view text);

}  // namespace spscope
