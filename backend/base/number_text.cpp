#include "backend/base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "backend/base/printable.h"

namespace spscope {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr Unit kDurations[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kBytes[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
constexpr Unit kBinaryBytes[] = {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};

// Decimals that leave three significant digits of a magnitude below 1000.
int decimals_of(double magnitude) { return magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2; }

// The largest unit of which there is at least one, after rounding to three digits: 999.6 us reads as 1.00 ms.
const Unit& unit_of(double value, std::span<const Unit> units) {
  const Unit* unit = &units.front();
  for (const Unit& larger : units)
    if (std::abs(value) >= 0.9995 * larger.size) unit = &larger;
  return *unit;
}

std::string in_unit(double value, const Unit& unit) {
  const double number = value / unit.size;
  if (unit.size == 1 || std::abs(number) >= 999.5) return count_text(number);
  return fmt::format("{:.{}f}", number, decimals_of(std::abs(number)));
}

std::string with_unit(double value, std::span<const Unit> units) {
  const Unit& unit = unit_of(value, units);
  return fmt::format("{} {}", in_unit(value, unit), unit.name);
}

// The end of the first word; a number and its unit ("13.1 ms", "5 %") are one word.
std::size_t word_end(std::string_view text) {
  constexpr std::size_t kLongestUnit = 2;
  const std::size_t blank = std::min(text.find(' '), text.size());
  if (blank == 0 || blank == text.size() || text[blank - 1] < '0' || text[blank - 1] > '9') return blank;
  const std::size_t next = std::min(text.find_first_of(" ,.", blank + 1), text.size());
  return next - blank - 1 <= kLongestUnit ? std::min(text.find(' ', blank + 1), text.size()) : blank;
}

}  // namespace

std::string duration_text(double ns) { return with_unit(ns, kDurations); }
std::string bytes_text(double num_bytes) { return with_unit(num_bytes, kBytes); }
std::string binary_bytes_text(double num_bytes) { return with_unit(num_bytes, kBinaryBytes); }

std::string duration_spread_text(double ns, double spread_ns) {
  const Unit& unit = unit_of(ns, kDurations);
  const int decimals = unit.size == 1 ? 0 : decimals_of(std::abs(ns) / unit.size);
  return fmt::format("±{:.{}f}", spread_ns / unit.size, decimals);
}

std::string count_text(double count) {
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return count < 0 && digits != "0" ? "-" + digits : digits;
}

std::string percent_text(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string ratio_text(double ratio) { return fmt::format("{:.3f}", ratio); }

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (char c : utf8) width += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  return width;
}

std::string wrapped_text(std::string_view given, int width) {
  const std::string clean = printable_line(given);
  std::string_view text = clean;
  std::string out, line;
  while (!text.empty()) {
    const std::size_t end = word_end(text);
    const std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      out += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + '\n';
}

}  // namespace spscope
