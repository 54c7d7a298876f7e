// Cleans names of events before they are stored: valid UTF-8 of at most 64 KiB.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spscope {

inline constexpr std::size_t kMaxNameBytes = 64 << 10;

struct CleanText {
  std::string text;
  bool repaired = false;  // invalid bytes became U+FFFD
  bool cut = false;       // it was longer; cut between characters
};
CleanText clean_text(std::string_view text);

}  // namespace spscope
