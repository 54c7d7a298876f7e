#include "backend/base/printable.h"

namespace spscope {
namespace {

std::string cleaned(std::string_view text, bool keep_lines) {
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if ((c < 0x20 && !(keep_lines && c == '\n')) || c == 0x7f || c1) {
      clean += "\xef\xbf\xbd";
      i += c1;
    } else {
      clean += text[i];
    }
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, true); }
std::string printable_line(std::string_view text) { return cleaned(text, false); }

}  // namespace spscope
