#include "backend/store/sqlite/any_value.h"

namespace spscope {

AnyValue any_value(const Statement& row, int column) {
  sqlite3_stmt* const handle = row.handle();
  const auto bytes = [&] { return static_cast<std::size_t>(sqlite3_column_bytes(handle, column)); };
  switch (sqlite3_column_type(handle, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(handle, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(handle, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle, column));
      return std::string_view(text, bytes());
    }
    case SQLITE_BLOB: {
      const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle, column));
      return std::span<const std::uint8_t>(data, bytes());
    }
    default:
      return std::monostate{};
  }
}

void copy_row(const Statement& row, Statement& to) {
  to.reset();
  for (int i = 0; i < row.num_columns(); ++i)
    sqlite3_bind_value(to.handle(), i + 1, sqlite3_column_value(row.handle(), i));
  to.step();
}

}  // namespace spscope
