// Fields of comma-separated values as RFC 4180 has them. A text that a spreadsheet would take for a formula gets an
// apostrophe in front, which spreadsheets take for "this is text": names in a file may be written by anybody.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// NULL is written as nothing, so an empty text is quoted.
inline std::string csv_field(std::string_view text) {
  if (!text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos)
    return csv_field("'" + std::string(text));
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace spscope
