// Text for people: what comes from a file, another process or an error may hold escape sequences, faked lines, and
// marks that turn the direction of what follows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spscope {

// How many bytes the first character has when no reader may get it as it is: a control character of C0 (line breaks and
// tabs included), U+007F or one of C1; a mark that turns the direction of text (U+061C, U+200E, U+200F, U+202A to
// U+202E, U+2066 to U+2069); a line break of Unicode (U+2028, U+2029). 0 for all others.
std::size_t unprintable_bytes(std::string_view text);

// The text as valid UTF-8 with U+FFFD for each of these characters and each byte that belongs to none; line breaks
// stay.
std::string printable(std::string_view text);
// The same for one line: line breaks are replaced, too.
std::string printable_line(std::string_view text);

}  // namespace spscope
