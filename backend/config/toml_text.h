// TOML in and out, behind an interface without the TOML library: a text becomes a flat list of entries with their
// places, and values become canonical text. Input may be hostile, so its size and nesting are checked before it is
// parsed.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/parameter.h"
#include "backend/base/result.h"

namespace spscope {

// Found in the place of a value: an empty table, a list of tables, a date.
inline constexpr std::string_view kEmptySection = "an empty section";
struct NotAValue {
  std::string what;
};
using TomlValue = std::variant<ParameterValue, std::vector<ParameterValue>, NotAValue>;

// One value of a file; path ["model", "grid"] is the key model.grid.
struct TomlEntry {
  std::vector<std::string> path;
  TomlValue value;
  SourcePlace key_place, value_place;
  // "model.grid"
  std::string name() const;
};

// Whether an unknown key deserves spelling help: after a hundred problems the file is probably another one.
inline bool helps_spelling(std::size_t problems, std::string_view key) { return problems < 100 && key.size() <= 80; }

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;
// Nested brackets, and dots of keys in one line. Config files need 2 and 3.
inline constexpr int kMaxTomlNesting = 16;

// All values of the text in the order of the file. `file` names it in places. The error holds one problem with its
// place.
Result<std::vector<TomlEntry>> read_toml(std::string_view text, std::string_view file);

// "text" with escapes, as TOML.
std::string toml_quoted(std::string_view text);
// A real that reads back as the same real and as a real: 1.0, 0.1, 1e-05.
std::string toml_real(double value);
// A parameter's text as the TOML value that reads back as the same text: 4, 0.5, true, "strided".
std::string toml_scalar(std::string_view text);

// For messages: at most 80 characters, control characters replaced.
std::string shown(std::string_view text);
// What a value is, in words: "an integer", "a list".
std::string_view kind_of(const TomlValue& value);

}  // namespace spscope
