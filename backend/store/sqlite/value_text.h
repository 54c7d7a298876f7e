// Values that the tables hold as text: content hashes and parameters of strategies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/base/parameter.h"

namespace spscope {

// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);
std::optional<std::uint64_t> parse_hash(std::string_view text);

// The value that to_text made this text of. `kind` is its stored number: 0 bool, 1 integer, 2 real, 3 text, as in
// ParameterValue. Absent when the text is no such value.
std::optional<ParameterValue> parameter_value(std::size_t kind, std::string_view text);

}  // namespace spscope
