// Reads TOML through toml++ and writes scalars. toml++ limits the nesting of brackets but not the depth of dotted keys,
// and it frees its tree by recursion, so a megabyte of "a.a.a..." would exhaust the stack: `too_deep` refuses such text
// first. It follows strings and comments as the parser does; where the text is not TOML, the parser stops at that
// place.
#include "backend/config/toml_text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace spscope {
namespace {

// The index after the string that begins at `i`, or the end of the line when it is not closed there.
std::size_t after_string(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const std::string triple(3, quote);
  const bool escapes = quote == '"';
  if (text.substr(i, 3) == triple) {
    for (i += 3; i < text.size() && text.substr(i, 3) != triple; ++i)
      if (escapes && text[i] == '\\') ++i;
    i = std::min(i + 3, text.size());
    for (int extra = 0; extra < 2 && i < text.size() && text[i] == quote; ++extra) ++i;  // """a""""" ends in two quotes
    return i;
  }
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i)
    if (escapes && text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '\n') ++i;
  return i < text.size() && text[i] == quote ? i + 1 : i;
}

// The line that nests brackets or dotted keys deeper than kMaxTomlNesting.
std::optional<int> too_deep(std::string_view text) {
  int line = 1, brackets = 0, dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = after_string(text, i);
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '\n') ++line, dots = 0;
    if (c == '.') ++dots;
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (dots > kMaxTomlNesting || brackets > kMaxTomlNesting) return line;
    ++i;
  }
  return std::nullopt;
}

SourcePlace place_of(const toml::source_region& region, std::string_view file) {
  return {std::string(file), static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

std::optional<ParameterValue> scalar_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return ParameterValue(flag->get());
  if (const auto* integer = node.as_integer()) return ParameterValue(integer->get());
  if (const auto* real = node.as_floating_point()) return ParameterValue(real->get());
  if (const auto* text = node.as_string()) return ParameterValue(text->get());
  return std::nullopt;
}

TomlValue value_of(const toml::node& node) {
  if (auto scalar = scalar_of(node)) return *std::move(scalar);
  const toml::array* list = node.as_array();
  if (list == nullptr) return NotAValue{std::string(node.is_table() ? kEmptySection : "a date or time")};
  std::vector<ParameterValue> items;
  for (const toml::node& item : *list) {
    auto scalar = scalar_of(item);
    if (!scalar) return NotAValue{"a list of lists, sections or dates"};
    items.push_back(*std::move(scalar));
  }
  return items;
}

void flatten(const toml::table& table, std::vector<std::string>& path, std::string_view file,
             std::vector<TomlEntry>& entries) {
  for (auto&& [key, node] : table) {
    path.emplace_back(key.str());
    if (const toml::table* inner = node.as_table(); inner != nullptr && !inner->empty())
      flatten(*inner, path, file, entries);
    else
      entries.push_back({path, value_of(node), place_of(key.source(), file), place_of(node.source(), file)});
    path.pop_back();
  }
}

constexpr std::string_view kTomlForm =
    "a config is lines of the form key = value below a [section]: see samples/photo.toml";

// The kind of a binary file by its first bytes; nothing when it may be TOML.
std::optional<Problem> other_format(std::string_view text) {
  constexpr std::string_view kArray =
      "a mask goes to mask.file (--set mask.file=FILE), q, k and v to model.activations; the config names them";
  struct Magic {
    std::string_view bytes, name, hint;
  };
  static constexpr Magic kinds[] = {{"\x93NUMPY", "a numpy array", kArray},
                                    {"PK\x03\x04", "a zip archive, as .npz is", kArray}};
  for (const Magic& kind : kinds)
    if (text.starts_with(kind.bytes))
      return Problem{
          ErrorCode::kConfigSyntax, "", fmt::format("this is {}, not a config", kind.name), std::string(kind.hint), {}};
  if (text.find('\0') != std::string_view::npos)
    return Problem{ErrorCode::kConfigSyntax,
                   "",
                   "this is a binary file, not a config",
                   fmt::format("{}; masks go to mask.file", kTomlForm),
                   {}};
  return std::nullopt;
}

// "a string needs quotes: preset = "wan-mini"" when the line holds a value without quotes; else "".
std::string quotes_hint(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find_first_of("#\r\n"));
  const auto trimmed = [](std::string_view part) {
    const std::size_t begin = std::min(part.find_first_not_of(" \t"), part.size());
    return part.substr(begin, part.find_last_not_of(" \t") + 1 - begin);
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find_first_of("\"'") != std::string_view::npos) return "";
  const std::string key(shown(trimmed(text.substr(0, equals))));
  const std::string_view value = trimmed(text.substr(equals + 1));
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  if (value.empty() || value == "true" || value == "false" || !std::ranges::any_of(value, is_letter)) return "";
  if (value.front() == '[') return fmt::format("strings need quotes: {} = [\"...\", \"...\"]", key);
  return fmt::format("a string needs quotes: {} = {}", key, toml_quoted(shown(value)));
}

Error syntax_error(std::string message, SourcePlace place, std::string hint = std::string(kTomlForm)) {
  return Error({Problem{ErrorCode::kConfigSyntax, "", std::move(message), std::move(hint), std::move(place)}});
}

}  // namespace

std::string TomlEntry::name() const { return fmt::format("{}", fmt::join(path, ".")); }

Result<std::vector<TomlEntry>> read_toml(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTomlBytes)
    return syntax_error(fmt::format("the text has {} bytes, more than {}", text.size(), kMaxTomlBytes),
                        {std::string(file)}, "is this the right file?");
  if (auto other = other_format(text)) {
    other->place = {std::string(file), 1, 1};
    return Error({*std::move(other)});
  }
  if (const auto line = too_deep(text))
    return syntax_error(fmt::format("keys or brackets nest deeper than {} levels", kMaxTomlNesting),
                        {std::string(file), *line, 1});
  std::vector<TomlEntry> entries;
  // The packaged toml++ library is built with exceptions and reports syntax errors only by them.
  try {
    const toml::table table = toml::parse(text, file);
    std::vector<std::string> path;
    flatten(table, path, file, entries);
  } catch (const toml::parse_error& error) {
    const SourcePlace place = place_of(error.source(), file);
    const std::string hint = quotes_hint(text, place.line);
    return syntax_error(shown(error.description()), place, hint.empty() ? std::string(kTomlForm) : hint);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
    return std::pair(a.key_place.line, a.key_place.column) < std::pair(b.key_place.line, b.key_place.column);
  });
  return entries;
}

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_real(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_scalar(std::string_view text) {
  if (text == "true" || text == "false") return std::string(text);
  std::int64_t integer = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, code] = std::from_chars(text.data(), end, integer);
      code == std::errc() && stop == end && std::to_string(integer) == text)
    return std::string(text);
  double real = 0;
  if (const auto [stop, code] = std::from_chars(text.data(), end, real);
      code == std::errc() && stop == end && std::isfinite(real) && toml_real(real) == text)
    return std::string(text);
  return toml_quoted(text);
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 80));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  // A cut in the middle of a UTF-8 character would print as garbage.
  if (text.size() > 80) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80) != 0) out.pop_back();
    out += "...";
  }
  return out;
}

std::string_view kind_of(const TomlValue& value) {
  if (const auto* bad = std::get_if<NotAValue>(&value)) return bad->what;
  if (std::holds_alternative<std::vector<ParameterValue>>(value)) return "a list";
  static constexpr std::string_view kinds[] = {"a boolean", "an integer", "a real", "a string"};
  return kinds[std::get<ParameterValue>(value).index()];
}

}  // namespace spscope
