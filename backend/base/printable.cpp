#include "backend/base/printable.h"

#include <algorithm>

#include "backend/base/utf8.h"

namespace spscope {
namespace {

std::string cleaned(std::string_view text, bool keep_lines) {
  if (std::ranges::all_of(text, [&](char c) { return (c >= 0x20 && c < 0x7f) || (keep_lines && c == '\n'); }))
    return std::string(text);
  const std::string valid = valid_utf8(text);
  std::string clean;
  for (std::size_t i = 0; i < valid.size();) {
    const std::size_t bytes = unprintable_bytes(std::string_view(valid).substr(i));
    const bool stays = bytes == 0 || (keep_lines && valid[i] == '\n');
    clean += stays ? std::string_view(valid).substr(i, 1) : kReplacement;
    i += stays ? 1 : bytes;
  }
  return clean;
}

}  // namespace

std::size_t unprintable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if (text.empty()) return 0;
  const unsigned c = byte(0), second = byte(1), third = byte(2);
  if (c < 0x20 || c == 0x7f) return 1;
  if ((c == 0xc2 && second >= 0x80 && second < 0xa0) || (c == 0xd8 && second == 0x9c)) return 2;
  const bool turns = (second == 0x80 && (third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae))) ||
                     (second == 0x81 && third >= 0xa6 && third <= 0xa9);
  return c == 0xe2 && turns ? 3 : 0;
}

std::string printable(std::string_view text) { return cleaned(text, true); }
std::string printable_line(std::string_view text) { return cleaned(text, false); }

}  // namespace spscope
