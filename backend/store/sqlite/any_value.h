// Values of rows whose types are not known beforehand, for copying and printing them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// NULL, a whole number, a real, a text or bytes.
using AnyValue = std::variant<std::monostate, std::int64_t, double, std::string_view, std::span<const std::uint8_t>>;

// The value of a column; valid until the next step of the row.
AnyValue any_value(const Statement& row, int column);
// Binds every column of a row to the parameters of another statement and runs it.
void copy_row(const Statement& row, Statement& to);

}  // namespace spscope
