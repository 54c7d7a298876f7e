// A folder with one file of comma-separated values (RFC 4180) for each table and view. NULL is an empty field, an empty
// text is "". Columns of bytes are left out: they are packed plans, masks and pictures, which mean nothing in text.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "backend/base/error.h"
#include "backend/base/number_text.h"
#include "backend/base/whole_file.h"
#include "backend/exchange/csv_text.h"
#include "backend/exchange/export.h"
#include "backend/exchange/store_tables.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/sqlite/any_value.h"

namespace spscope {

namespace {

namespace fs = std::filesystem;

// The file that marks a folder as an export. It is written last.
constexpr const char* kMark = "spscope-export.txt";
constexpr std::string_view kMarkText = "Tables of a stored run, written by spscope export --format csv.\n";
constexpr std::size_t kBufferBytes = 1 << 20;

void append_field(std::string& line, const AnyValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) line += fmt::format_int(*number).str();
  if (const auto* real = std::get_if<double>(&value)) line += real_text(*real);
  if (const auto* text = std::get_if<std::string_view>(&value)) line += csv_field(*text);
}

// Writes a table and returns the number of its rows.
std::int64_t write_table(Database& db, const std::string& sql, const std::string& path) {
  Statement rows(db, sql);
  WholeFile file(path);
  std::string text;
  for (int i = 0; i < rows.num_columns(); ++i) text += (i > 0 ? "," : "") + csv_field(rows.column_name(i));
  text += "\r\n";
  std::int64_t count = 0;
  for (; rows.step(); ++count) {
    for (int i = 0; i < rows.num_columns(); ++i) {
      if (i > 0) text += ',';
      append_field(text, any_value(rows, i));
    }
    text += "\r\n";
    if (text.size() < kBufferBytes) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
  return count;
}

// A new folder beside the destination, removed unless it was put in its place.
class WholeFolder {
 public:
  explicit WholeFolder(const std::string& path) : path_(path), temporary_(path + ".tmp-XXXXXX") {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    temporary_ = path_ + ".tmp-XXXXXX";
    if (::mkdtemp(temporary_.data()) == nullptr) fail(std::error_code(errno, std::generic_category()));
    fs::permissions(temporary_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                    fs::perms::others_read | fs::perms::others_exec);
  }
  ~WholeFolder() {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  std::string operator/(const std::string& name) const { return temporary_ + "/" + name; }
  // Puts the folder where it belongs, in place of an earlier export.
  void commit() {
    std::error_code error;
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0 &&
        ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
      fs::remove_all(path_, error);  // a file system that can neither
      fs::rename(temporary_, path_, error);
      if (error) fail(error);
    }
    sync_folder_of(path_);
  }

 private:
  [[noreturn]] void fail(const std::error_code& error) const {
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot write \"{}\": {}", path_, error.message()),
                "name a folder that does not exist, in one that you may write to");
  }
  std::string path_, temporary_;
};

}  // namespace

ExportReport export_csv(const ExportSource& source, const std::string& path) {
  ExportReport report;
  WholeFolder folder(path);
  for (ExportTable table : ordinary_tables()) {
    const std::size_t all = table.columns.size();
    std::erase_if(table.columns, [](const ExportColumn& column) { return column.type == "BLOB"; });
    if (table.columns.size() < all) report.notes.push_back(fmt::format("{} without its columns of bytes", table.name));
    write_table(*source.db, select_all(table, "main"), folder / (table.name + ".csv"));
  }
  for (const ExportTable& table : virtual_tables(*source.db)) {
    const std::int64_t rows = write_table(*source.db, select_all(table, "temp"), folder / (table.name + ".csv"));
    if (table.name == "event") report.events = rows;
  }
  for (const SqlText& view : embedded_views()) {
    const std::string name(view.name);
    write_table(*source.db, "SELECT * FROM temp." + name, folder / (name + ".csv"));
  }
  write_whole_file(folder / kMark, kMarkText);
  folder.commit();
  return report;
}

// A folder with our mark and nothing but tables.
bool is_csv(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  std::string mark;
  std::ifstream in(path + "/" + kMark);
  if (!std::getline(in, mark) || mark + "\n" != kMarkText) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (!entry.is_regular_file() || (entry.path().extension() != ".csv" && entry.path().filename() != kMark))
      return false;
  return true;
}

}  // namespace spscope
