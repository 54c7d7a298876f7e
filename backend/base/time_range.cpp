#include "backend/base/time_range.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace spscope {

namespace {

struct TimeUnit {
  std::string_view name;
  int digits;  // a unit is 10^digits ns
};
// "ns" ends in "s", which therefore comes last.
constexpr std::array<TimeUnit, 4> kUnits = {{{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}}};

std::string time_text(std::int64_t ns) {
  TimeUnit unit = kUnits[0];
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::uint64_t scale = 1;
  for (const TimeUnit& wider : kUnits) {
    std::uint64_t of_unit = 1;
    for (int i = 0; i < wider.digits; ++i) of_unit *= 10;
    if (size < of_unit) break;
    unit = wider;
    scale = of_unit;
  }
  std::string text = fmt::format("{}{}", ns < 0 ? "-" : "", size / scale);
  if (size % scale != 0) {
    std::string fraction = fmt::format("{:0{}}", size % scale, unit.digits);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + std::string(unit.name);
}

// Adds a digit; false when the number no longer fits.
bool push(std::int64_t& number, int digit) {
  return !__builtin_mul_overflow(number, std::int64_t{10}, &number) &&
         !__builtin_add_overflow(number, std::int64_t{digit}, &number);
}

}  // namespace

std::optional<std::int64_t> parse_time_ns(std::string_view text) {
  int digits = 0;
  for (const TimeUnit& unit : kUnits)
    if (text.ends_with(unit.name)) {
      digits = unit.digits;
      text.remove_suffix(unit.name.size());
      break;
    }
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point),
                         fraction = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  for (const std::string_view part : {whole, fraction})
    if (part.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t ns = 0;
  for (const char digit : whole)
    if (!push(ns, digit - '0')) return std::nullopt;
  for (std::size_t i = 0; i < static_cast<std::size_t>(digits); ++i)
    if (!push(ns, i < fraction.size() ? fraction[i] - '0' : 0)) return std::nullopt;
  const auto rest = static_cast<std::size_t>(digits);
  if (fraction.size() > rest && fraction[rest] >= '5' && ns < std::numeric_limits<std::int64_t>::max()) ++ns;
  return negative ? -ns : ns;
}

std::optional<TimeRange> parse_time_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> begin_ns = parse_time_ns(text.substr(0, dots)),
                                    end_ns = parse_time_ns(text.substr(dots + 2));
  if (!begin_ns || !end_ns) return std::nullopt;
  return TimeRange{*begin_ns, *end_ns};
}

std::string time_range_text(std::int64_t begin_ns, std::int64_t end_ns) {
  return time_text(begin_ns) + ".." + time_text(end_ns);
}

}  // namespace spscope
