// The rows of config_fields.def, and reading and writing one value by its row.
#include "backend/config/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/base/nearest_name.h"
#include "backend/base/share_hint.h"
#include "backend/config/cluster.h"
#include "backend/config/model.h"

namespace spscope {
namespace {

constexpr FieldRow kFields[] = {
#define FIELD(section, key, role, ...) \
  {#section, #key, #section "." #key, [](RunConfig& c) -> FieldRef { return &c.section.key; }, role, __VA_ARGS__},
#define NUMBER(section, key, min, max, unit, help) FIELD(section, key, FieldRole::kSetting, min, max, unit, help)
#define ABOVE(section, key, min, max, unit, help) FIELD(section, key, FieldRole::kSetting, min, max, unit, help, true)
#define TEXT(section, key, help) FIELD(section, key, FieldRole::kSetting, 1, 0, "", help)
#define PRESET(section, key, names, help) FIELD(section, key, FieldRole::kSetting, 1, 0, "", help, false, names)
#define INPUT(section, key, help) FIELD(section, key, FieldRole::kInputPath, 1, 0, "", help)
#define OUTPUT(section, key, help) FIELD(section, key, FieldRole::kOutputPath, 1, 0, "", help)
#include "backend/config/config_fields.def"
#undef OUTPUT
#undef INPUT
#undef PRESET
#undef TEXT
#undef ABOVE
#undef NUMBER
#undef FIELD
};

// Collects what is wrong with one value.
class FieldReader {
 public:
  FieldReader(const FieldRow& row, const SourcePlace& place, std::vector<Problem>& problems)
      : row_(row), place_(place), problems_(problems) {}

  bool read(const TomlValue& value, int& out) const {
    std::int64_t wide = 0;
    if (!integer(value, wide)) return false;
    out = static_cast<int>(wide);
    return true;
  }
  bool read(const TomlValue& value, std::uint64_t& out) const {
    std::int64_t wide = 0;
    if (!integer(value, wide)) return false;
    out = static_cast<std::uint64_t>(wide);
    return true;
  }
  bool read(const TomlValue& value, double& out) const {
    const auto* scalar = std::get_if<ParameterValue>(&value);
    const auto* real = scalar != nullptr ? std::get_if<double>(scalar) : nullptr;
    const auto* whole = scalar != nullptr ? std::get_if<std::int64_t>(scalar) : nullptr;
    if (real == nullptr && whole == nullptr) return wrong_type(value, "a number");
    const double number = real != nullptr ? *real : static_cast<double>(*whole);
    if (!(number >= row_.min && number <= row_.max) || (row_.excludes_min && number == row_.min))
      return outside(fmt::format("{}", number));
    out = number;
    return true;
  }
  bool read(const TomlValue& value, std::string& out) const {
    const std::string* text = text_of(value);
    if (text == nullptr) return wrong_type(value, "a string in quotes");
    if (text->find('\0') != std::string::npos)
      return report(ErrorCode::kConfigRange, "the string contains a zero byte", "remove it");
    out = *text;
    return true;
  }
  bool read(const TomlValue& value, TokenGrid& out) const {
    const auto* list = std::get_if<std::vector<ParameterValue>>(&value);
    if (list == nullptr) return wrong_type(value, "a list of three integers");
    if (list->size() != out.size())
      return report(ErrorCode::kConfigType, fmt::format("the list has {} elements, not 3", list->size()),
                    "write [frames, height, width]");
    TokenGrid grid = {};
    for (std::size_t i = 0; i < grid.size(); ++i)
      if (!read(TomlValue((*list)[i]), grid[i])) return false;
    out = grid;
    return true;
  }
  bool read(const TomlValue& value, std::vector<std::string>& out) const {
    const auto* list = std::get_if<std::vector<ParameterValue>>(&value);
    if (list == nullptr) return wrong_type(value, "a list of strings");
    std::vector<std::string> texts;
    for (const ParameterValue& item : *list) {
      std::string text;
      if (!read(TomlValue(item), text)) return false;
      texts.push_back(std::move(text));
    }
    out = std::move(texts);
    return true;
  }
  bool read(const TomlValue& value, LayerChoice& out) const {
    if (const std::string* text = text_of(value)) {
      if (parse_layer_choice(*text, out)) return true;
      return report(ErrorCode::kConfigRange, fmt::format("\"{}\" names no layers", shown(*text)),
                    "write 8, [0, 5, 39], \"spread:8\" or \"auto\"");
    }
    const auto* list = std::get_if<std::vector<ParameterValue>>(&value);
    if (list == nullptr) {
      int first = 0;
      if (!std::holds_alternative<ParameterValue>(value) ||
          !std::holds_alternative<std::int64_t>(std::get<ParameterValue>(value)))
        return wrong_type(value, "a number, a list of layers or \"spread:N\"");
      if (!read(value, first)) return false;
      out = first;
      return true;
    }
    std::vector<int> layers;
    for (const ParameterValue& item : *list) {
      const auto* layer = std::get_if<std::int64_t>(&item);
      if (layer == nullptr) return wrong_type(TomlValue(item), "a list of integers");
      if (*layer < 0 || static_cast<double>(*layer) >= row_.max)
        return report(ErrorCode::kConfigRange, fmt::format("there is no layer {}", *layer),
                      "layers are counted from 0, as in [0, 5, 39]");
      if (std::find(layers.begin(), layers.end(), static_cast<int>(*layer)) != layers.end())
        return report(ErrorCode::kConfigRange, fmt::format("layer {} is there twice", *layer), "name each layer once");
      layers.push_back(static_cast<int>(*layer));
    }
    if (layers.empty()) return report(ErrorCode::kConfigRange, "the list has no layer", "name at least one: [0]");
    out = LayerChoice::of(std::move(layers));
    return true;
  }
  template <typename Choice>
  requires std::is_enum_v<Choice>
  bool read(const TomlValue& value, Choice& out) const {
    const std::string* text = text_of(value);
    if (text == nullptr) return wrong_type(value, "a string in quotes");
    const auto names = choice_names(out);
    const auto found = std::find(names.begin(), names.end(), *text);
    if (found == names.end()) {
      const std::string near = nearest_name(*text, names);
      return report(ErrorCode::kConfigUnknownName, fmt::format("\"{}\" is not a choice", shown(*text)),
                    near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean \"{}\"?", near));
    }
    out = static_cast<Choice>(found - names.begin());
    return true;
  }

 private:
  static const std::string* text_of(const TomlValue& value) {
    const auto* scalar = std::get_if<ParameterValue>(&value);
    return scalar != nullptr ? std::get_if<std::string>(scalar) : nullptr;
  }
  bool integer(const TomlValue& value, std::int64_t& out) const {
    const auto* scalar = std::get_if<ParameterValue>(&value);
    const auto* whole = scalar != nullptr ? std::get_if<std::int64_t>(scalar) : nullptr;
    if (whole == nullptr) return wrong_type(value, "an integer");
    const double number = static_cast<double>(*whole);
    if (number < row_.min || number > row_.max) return outside(std::to_string(*whole));
    out = *whole;
    return true;
  }
  bool wrong_type(const TomlValue& value, std::string_view wanted) const {
    return report(ErrorCode::kConfigType, fmt::format("expected {}, got {}", wanted, kind_of(value)),
                  fmt::format("for example {}", example()));
  }
  bool outside(const std::string& number) const {
    const std::string share = share_hint(number, row_.min, row_.max);
    return report(ErrorCode::kConfigRange, fmt::format("{} is outside {}", number, field_range(row_)),
                  share.empty() ? fmt::format("{}; {} when not given", row_.help, field_toml(row_, {})) : share);
  }
  // The default in the form of the place: --set run.repeats=5, or repeats = 5 in a file.
  std::string example() const {
    std::string value = field_toml(row_, {});
    if (!place_.file.starts_with("--set ")) return fmt::format("{} = {}", row_.key, value);
    if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return fmt::format("--set {}={}", row_.name, value);
  }
  bool report(ErrorCode code, std::string message, std::string hint) const {
    problems_.push_back({code, std::string(row_.name), std::move(message), std::move(hint), place_});
    return false;
  }

  const FieldRow& row_;
  const SourcePlace& place_;
  std::vector<Problem>& problems_;
};

std::string toml_of(int value) { return std::to_string(value); }
std::string toml_of(std::uint64_t value) { return std::to_string(value); }
std::string toml_of(double value) { return toml_real(value); }
std::string toml_of(const std::string& value) { return toml_quoted(value); }
std::string toml_of(const TokenGrid& value) { return fmt::format("[{}]", fmt::join(value, ", ")); }
std::string toml_of(const std::vector<std::string>& value) {
  std::vector<std::string> quoted;
  for (const std::string& text : value) quoted.push_back(toml_quoted(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}
std::string toml_of(const LayerChoice& value) { return layer_choice_toml(value); }
template <typename Choice>
requires std::is_enum_v<Choice> std::string toml_of(Choice value) { return toml_quoted(choice_name(value)); }

std::string_view type_of(int) { return "integer"; }
std::string_view type_of(std::uint64_t) { return "integer"; }
std::string_view type_of(double) { return "real"; }
std::string_view type_of(const std::string&) { return "text"; }
std::string_view type_of(const TokenGrid&) { return "three integers"; }
std::string_view type_of(const std::vector<std::string>&) { return "list of texts"; }
std::string_view type_of(const LayerChoice&) { return "layers"; }
template <typename Choice>
requires std::is_enum_v<Choice> std::string_view type_of(Choice) { return "choice"; }

}  // namespace

std::span<const FieldRow> config_fields() { return kFields; }

const FieldRow* find_field(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const FieldRow& row) { return row.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

std::string_view field_type(const FieldRow& row) {
  RunConfig config;
  return std::visit([](auto* value) { return type_of(*value); }, row.ref(config));
}

std::vector<std::string_view> field_choices(const FieldRow& row) {
  if (row.names != nullptr) return row.names();
  RunConfig config;
  return std::visit(
      [](auto* value) -> std::vector<std::string_view> {
        if constexpr (std::is_enum_v<std::remove_pointer_t<decltype(value)>>) {
          const auto names = choice_names(*value);
          return {names.begin(), names.end()};
        } else {
          return {};
        }
      },
      row.ref(config));
}

std::string field_range(const FieldRow& row) {
  if (row.min > row.max) return {};
  return fmt::format("{}{}, {}]", row.excludes_min ? '(' : '[', row.min, row.max);
}

std::string field_toml(const FieldRow& row, const RunConfig& config) {
  RunConfig copy = config;  // rows hold accessors to mutable members
  return std::visit([](auto* value) { return toml_of(*value); }, row.ref(copy));
}

bool set_field(const FieldRow& row, RunConfig& config, const TomlValue& value, const SourcePlace& place,
               std::vector<Problem>& problems) {
  const FieldReader reader(row, place, problems);
  return std::visit([&](auto* out) { return reader.read(value, *out); }, row.ref(config));
}

}  // namespace spscope
