#include "backend/cli/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "backend/base/letter_case.h"
#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

using Refused = std::optional<RefusedValue>;

template <typename Number>
bool parse(const std::string& text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

template <typename Number>
Refused check_between(const std::string& text, Number min, Number max, const char* kind) {
  const std::string hint = fmt::format("give {} from {} to {}", kind, min, max);
  Number number = 0;
  if (!parse(text, number)) return RefusedValue{fmt::format("\"{}\" is not {}", text, kind), hint};
  if (!(number >= min && number <= max))
    return RefusedValue{fmt::format("{} is outside [{}, {}]", text, min, max), hint};
  return {};
}

// 8589934592 as "8GiB".
std::string bytes_text(std::int64_t bytes) {
  static constexpr std::string_view units[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(units) && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return fmt::format("{}{}", bytes, units[unit]);
}

// Splits "512 MiB" into 512 and a shift of 20; -1 when it is no integer with a unit. A kB is a KiB here.
int parse_bytes(std::string_view text, std::int64_t& count) {
  constexpr std::string_view kUnits = "kmgtpe";
  constexpr int kShift = 10;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string unit = lower_case(std::string_view(end, text.data() + text.size()));
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  if (code == std::errc::invalid_argument) return -1;
  if (code != std::errc()) count = std::numeric_limits<std::int64_t>::max();  // too large, whatever its unit
  if (unit.empty() || unit == "b") return 0;
  const std::size_t power = kUnits.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) return -1;
  return kShift * (static_cast<int>(power) + 1);
}

// What is wrong with `text` under each rule; nothing when it is right.
struct Check {
  std::string& text;

  Refused operator()(std::monostate) const { return {}; }

  Refused operator()(const OneOf& rule) const {
    if (std::ranges::find(rule.choices, text) != rule.choices.end()) return {};
    const std::string near =
        nearest_name(text, std::vector<std::string_view>(rule.choices.begin(), rule.choices.end()));
    const std::string all = fmt::format("use one of {}", fmt::join(rule.choices, ", "));
    return RefusedValue{fmt::format("\"{}\" is not a choice", text),
                        near.empty() ? all : fmt::format("did you mean \"{}\"? {}", near, all)};
  }

  Refused operator()(const IntegerBetween& rule) const { return check_between(text, rule.min, rule.max, "an integer"); }

  Refused operator()(const NumberBetween& rule) const { return check_between(text, rule.min, rule.max, "a number"); }

  Refused operator()(const BytesBetween& rule) const {
    const std::string hint = fmt::format("give bytes from {} to {}, with or without a unit: 512MiB, 8GiB",
                                         bytes_text(rule.min), bytes_text(rule.max));
    std::int64_t count = 0;
    const int shift = parse_bytes(text, count);
    if (shift < 0) return RefusedValue{fmt::format("\"{}\" is not a size", text), hint};
    if (count < 0 || count > (rule.max >> shift) || (count << shift) < rule.min)
      return RefusedValue{fmt::format("{} is outside [{}, {}]", text, bytes_text(rule.min), bytes_text(rule.max)),
                          hint};
    text = std::to_string(count << shift);
    return {};
  }
};

}  // namespace

std::string long_name(const Flag& flag) {
  const std::size_t begin = flag.names.find("--");
  return begin == std::string::npos ? flag.names : flag.names.substr(begin, flag.names.find(',', begin) - begin);
}

bool is_positional(const Flag& flag) { return !flag.names.starts_with('-'); }

std::optional<RefusedValue> check_value(const FlagRule& rule, std::string& text) {
  return std::visit(Check{text}, rule);
}

std::string value_name(const Flag& flag) {
  if (!flag.value_name.empty()) return flag.value_name;
  if (const auto* rule = std::get_if<OneOf>(&flag.rule)) return fmt::format("{}", fmt::join(rule->choices, "|"));
  return std::holds_alternative<BytesBetween>(flag.rule) ? "SIZE" : "";
}

}  // namespace spscope
