// The numbers that the tables hold, with their names: the rows of `enum_name`. Numbers are only ever added.
#pragma once

#include <span>
#include <string_view>

namespace spscope {

struct EnumName {
  std::string_view kind;  // table.column
  int value;
  std::string_view name;
};
std::span<const EnumName> enum_names();

}  // namespace spscope
