// Which values a flag takes: the check of a value, in words that say what is wrong and what would be right, and how
// --help calls the value.
#pragma once

#include <optional>
#include <string>

#include "backend/cli/flags.h"

namespace spscope {

// Why a value is refused, and which would not be.
struct RefusedValue {
  std::string message, hint;
};

// Checks one value as it was typed. Bytes with a unit are replaced by their number.
std::optional<RefusedValue> check_value(const FlagRule& rule, std::string& text);
// How --help calls the value of a flag: "a|b|c", "SIZE"; "" where the type of its variable says it.
std::string value_name(const Flag& flag);

}  // namespace spscope
