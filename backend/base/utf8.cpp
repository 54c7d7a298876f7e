#include "backend/base/utf8.h"

namespace spscope {

namespace {

unsigned char byte_at(std::string_view s, std::size_t i) { return static_cast<unsigned char>(s[i]); }

// Bytes of the well-formed character at `at` (Unicode 15, table 3-7: no overlong forms, no surrogates, at most
// U+10FFFF); 0 when there is none. A zero byte counts as malformed, since SQL text ends there for many readers.
std::size_t character_bytes(std::string_view s, std::size_t at) {
  const unsigned char lead = byte_at(s, at);
  if (lead == 0) return 0;
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (n == 0 || s.size() - at < n) return 0;
  const unsigned char second = byte_at(s, at + 1);
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (std::size_t i = 2; i < n; ++i)
    if ((byte_at(s, at + i) & 0xc0) != 0x80) return 0;
  return n;
}

}  // namespace

CleanText clean_text(std::string_view text) {
  CleanText clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = character_bytes(text, at);
    const std::string_view character = n == 0 ? kReplacement : text.substr(at, n);
    if (clean.text.size() + character.size() > kMaxNameBytes) {
      clean.cut = true;
      break;
    }
    clean.repaired |= n == 0;
    clean.text += character;
    at += n == 0 ? 1 : n;
  }
  return clean;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = character_bytes(text, at);
    valid += n == 0 ? kReplacement : text.substr(at, n);
    at += n == 0 ? 1 : n;
  }
  return valid;
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  if (most >= text.size()) return text;
  while (most > 0 && (byte_at(text, most) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace spscope
