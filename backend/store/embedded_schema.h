// The SQL of schemas/, built into the program: embed_schema.cmake writes the source file.
#pragma once

#include <span>
#include <string_view>

namespace spscope {

struct SqlText {
  std::string_view name;  // file name without folder and .sql: "0001_initial"
  std::string_view text;
};
// Migrations in order of their numbers, starting with the first schema.
std::span<const SqlText> embedded_migrations();
// One view a file, in alphabetical order.
std::span<const SqlText> embedded_views();

}  // namespace spscope
