#include "backend/cli/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

std::string refusal(const std::string& message, const std::string& hint) { return message + kHintMark + hint; }

template <typename Number>
bool parse(const std::string& text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

template <typename Number>
void take(CLI::Option* option, Number min, Number max, const std::string& unit, const char* kind) {
  option->type_name(unit);
  option->check(CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::string hint = fmt::format("give {} from {} to {}", kind, min, max);
        Number number = 0;
        if (!parse(text, number)) return refusal(fmt::format("\"{}\" is not {}", text, kind), hint);
        if (!(number >= min && number <= max))
          return refusal(fmt::format("{} is outside [{}, {}]", text, min, max), hint);
        return {};
      },
      ""));
}

// 8589934592 as "8GiB".
std::string bytes_given(std::int64_t bytes) {
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
  std::string unit(end, text.data() + text.size());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  if (code == std::errc::invalid_argument) return -1;
  if (code != std::errc()) count = std::numeric_limits<std::int64_t>::max();  // too large, whatever its unit
  if (unit.empty() || unit == "b") return 0;
  const std::size_t power = kUnits.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) return -1;
  return kShift * (static_cast<int>(power) + 1);
}

}  // namespace

void take_choice(CLI::Option* option, const std::vector<std::string>& choices) {
  option->type_name(fmt::format("{}", fmt::join(choices, "|")));
  option->check(CLI::Validator(
      [choices](std::string& text) -> std::string {
        if (std::ranges::find(choices, text) != choices.end()) return {};
        const std::string near = nearest_name(text, std::vector<std::string_view>(choices.begin(), choices.end()));
        const std::string all = fmt::format("use one of {}", fmt::join(choices, ", "));
        return refusal(fmt::format("\"{}\" is not a choice", text),
                       near.empty() ? all : fmt::format("did you mean \"{}\"? {}", near, all));
      },
      ""));
}

void take_number(CLI::Option* option, double min, double max, const std::string& unit) {
  take<double>(option, min, max, unit, "a number");
}

void take_integer(CLI::Option* option, std::int64_t min, std::int64_t max, const std::string& unit) {
  take<std::int64_t>(option, min, max, unit, "an integer");
}

void take_bytes(CLI::Option* option, std::int64_t min, std::int64_t max) {
  option->type_name("SIZE");
  option->transform(CLI::Validator(
      [=](std::string& text) -> std::string {
        const std::string hint = fmt::format("give bytes from {} to {}, with or without a unit: 512MiB, 8GiB",
                                             bytes_given(min), bytes_given(max));
        std::int64_t count = 0;
        const int shift = parse_bytes(text, count);
        if (shift < 0) return refusal(fmt::format("\"{}\" is not a size", text), hint);
        if (count < 0 || count > (max >> shift) || (count << shift) < min)
          return refusal(fmt::format("{} is outside [{}, {}]", text, bytes_given(min), bytes_given(max)), hint);
        text = std::to_string(count << shift);
        return {};
      },
      ""));
}

}  // namespace spscope
