#include "backend/base/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/base/check.h"
#include "backend/base/nearest_name.h"
#include "backend/base/share_hint.h"

namespace spscope {
namespace {

const char* type_name(const ParameterValue& value) {
  static constexpr const char* names[] = {"true or false", "an integer", "a number", "a string"};
  return names[value.index()];
}

template <typename T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

// The text as a value of the same type as `like`; false when it is not one.
bool parse_value(std::string_view text, const ParameterValue& like, ParameterValue& out) {
  if (std::holds_alternative<bool>(like)) {
    if (text != "true" && text != "false") return false;
    out = text == "true";
    return true;
  }
  if (std::holds_alternative<std::int64_t>(like)) {
    std::int64_t n = 0;
    if (!parse_number(text, n)) return false;
    out = n;
    return true;
  }
  if (std::holds_alternative<double>(like)) {
    double x = 0;
    if (!parse_number(text, x)) return false;
    out = x;
    return true;
  }
  out = std::string(text);
  return true;
}

bool in_range(const ParameterValue& value, const Parameter& row) {
  if (row.min > row.max) return true;
  if (const auto* n = std::get_if<std::int64_t>(&value)) return *n >= row.min && *n <= row.max;
  if (const auto* x = std::get_if<double>(&value)) return *x >= row.min && *x <= row.max;
  return true;
}

}  // namespace

Parameter Parameter::flag(std::string name, bool default_value, std::string help) {
  return {.name = std::move(name), .default_value = default_value, .help = std::move(help)};
}

Parameter Parameter::integer(std::string name, std::int64_t default_value, std::int64_t min, std::int64_t max,
                             std::string unit, std::string help) {
  return {.name = std::move(name),
          .default_value = default_value,
          .min = static_cast<double>(min),
          .max = static_cast<double>(max),
          .unit = std::move(unit),
          .help = std::move(help)};
}

Parameter Parameter::real(std::string name, double default_value, double min, double max, std::string help) {
  return {.name = std::move(name), .default_value = default_value, .min = min, .max = max, .help = std::move(help)};
}

Parameter Parameter::choice(std::string name, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {.name = std::move(name),
          .default_value = std::move(first),
          .choices = std::move(choices),
          .help = std::move(help)};
}

Parameters::Parameters(const std::vector<Parameter>& rows) {
  for (const Parameter& row : rows) set(row.name, row.default_value);
}

const ParameterValue& Parameters::at(std::string_view name) const {
  const auto found = values_.find(name);
  SPSCOPE_CHECK(found != values_.end());
  return found->second;
}

std::string Parameters::str() const {
  std::string text;
  for (const auto& [name, value] : values_) text += (text.empty() ? "" : ",") + name + "=" + to_text(value);
  return text;
}

std::string to_text(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* n = std::get_if<std::int64_t>(&value)) return std::to_string(*n);
  if (const auto* x = std::get_if<double>(&value)) return fmt::format("{}", *x);
  return std::get<std::string>(value);
}

void set_parameter(Parameters& values, const std::vector<Parameter>& rows, std::string_view name, std::string_view text,
                   std::string_view owner, std::vector<Problem>& problems) {
  const std::string field = fmt::format("{}.{}", owner, name);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Parameter& p) { return p.name == name; });
  if (row == rows.end()) {
    std::vector<std::string_view> names;
    for (const Parameter& p : rows) names.push_back(p.name);
    const std::string near = nearest_name(name, names);
    const std::string all = names.empty() ? fmt::format("{} has no parameters", owner)
                                          : fmt::format("its parameters are {}", fmt::join(names, ", "));
    problems.push_back({ErrorCode::kConfigUnknownKey, field, "there is no such parameter",
                        near.empty() ? all : fmt::format("did you mean \"{}\"?", near)});
    return;
  }
  ParameterValue value;
  if (!parse_value(text, row->default_value, value)) {
    problems.push_back({ErrorCode::kConfigType, field,
                        fmt::format("\"{}\" is not {}", text, type_name(row->default_value)),
                        fmt::format("the default is {}", to_text(row->default_value))});
    return;
  }
  if (!in_range(value, *row)) {
    const std::string share = share_hint(text, row->min, row->max);
    problems.push_back(
        {ErrorCode::kConfigRange, field, fmt::format("{} is outside [{}, {}]", text, row->min, row->max),
         share.empty() ? fmt::format("{}; {} when not given", row->help, to_text(row->default_value)) : share});
    return;
  }
  if (!row->choices.empty() && std::find(row->choices.begin(), row->choices.end(), text) == row->choices.end()) {
    problems.push_back({ErrorCode::kConfigUnknownName, field, fmt::format("\"{}\" is not a choice", text),
                        fmt::format("use one of {}", fmt::join(row->choices, ", "))});
    return;
  }
  values.set(name, std::move(value));
}

}  // namespace spscope
