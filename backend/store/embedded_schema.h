// The SQL of schemas/, built into the program: embed_schema.cmake writes the source file.
#pragma once

#include <span>
#include <string_view>

namespace spscope {

// The tables: schemas/store.sql.
std::string_view embedded_schema();

struct SqlText {
  std::string_view name;  // file name without folder and .sql: "rank_load"
  std::string_view text;
};
// One view a file, in alphabetical order.
std::span<const SqlText> embedded_views();

}  // namespace spscope
