// Text as valid UTF-8: names of events before they are stored (at most 64 KiB), texts of any length, and texts that are
// cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spscope {

inline constexpr std::size_t kMaxNameBytes = 64 << 10;
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

struct CleanText {
  std::string text;
  bool repaired = false;  // invalid bytes became U+FFFD
  bool cut = false;       // it was longer; cut between characters
};
CleanText clean_text(std::string_view text);
// The whole text with U+FFFD for each byte that belongs to no character.
std::string valid_utf8(std::string_view text);
// As many whole characters of UTF-8, from the first, as `most` bytes hold.
std::string_view first_characters(std::string_view text, std::size_t most);

}  // namespace spscope
