#include "backend/store/sqlite/value_text.h"

#include <fmt/format.h>

#include <charconv>

namespace spscope {

namespace {

// The number that is the whole of the text.
template <typename Number, typename... Format>
std::optional<Number> whole_number(std::string_view text, Format... format) {
  Number number{};
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number, format...);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

template <typename T>
std::optional<ParameterValue> as_value(std::optional<T> value) {
  return value ? std::optional<ParameterValue>(*value) : std::nullopt;
}

}  // namespace

static_assert(std::is_same_v<ParameterValue, std::variant<bool, std::int64_t, double, std::string>>,
              "the order of the types is stored");

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::optional<std::uint64_t> parse_hash(std::string_view text) {
  return text.size() == 16 ? whole_number<std::uint64_t>(text, 16) : std::nullopt;
}

std::optional<ParameterValue> parameter_value(std::size_t kind, std::string_view text) {
  switch (kind) {
    case 0:
      return text == "true" || text == "false" ? std::optional<ParameterValue>(text == "true") : std::nullopt;
    case 1:
      return as_value(whole_number<std::int64_t>(text));
    case 2:
      return as_value(whole_number<double>(text));
    case 3:
      return ParameterValue(std::string(text));
    default:
      return std::nullopt;
  }
}

}  // namespace spscope
