// A folder with one file of comma-separated values (RFC 4180) for each table and view. NULL is an empty field, an empty
// text is "". Columns of bytes are left out: they are packed plans, masks and pictures, which mean nothing in text.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "backend/base/error.h"
#include "backend/base/number_text.h"
#include "backend/base/own_files.h"
#include "backend/base/regular_file.h"
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
constexpr std::size_t kTableBufferBytes = 1 << 20;

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
    if (text.size() < kTableBufferBytes) continue;
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
    if (::mkdtemp(temporary_.data()) == nullptr) fail(errno);
  }
  ~WholeFolder() { remove_own_folder(temporary_); }
  WholeFolder(const WholeFolder&) = delete;
  WholeFolder& operator=(const WholeFolder&) = delete;

  std::string operator/(const std::string& name) const { return temporary_ + "/" + name; }
  // Puts the folder where it belongs, in place of an earlier export.
  void commit() {
    let_others_read();
    if (!rename_with(RENAME_NOREPLACE) && (errno != EEXIST || !rename_with(RENAME_EXCHANGE))) {
      if (errno != EINVAL && errno != ENOSYS) fail(errno);  // else a file system that can do neither
      remove_own_folder(path_);
      if (!rename_with(0)) fail(errno);
    }
    sync_folder_of(path_);
  }

 private:
  bool rename_with(unsigned flags) const {
    return ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) == 0;
  }
  // Of the folder that is behind the name, when it is still ours.
  void let_others_read() const {
    constexpr mode_t kMode = 0755;
    const int fd = ::open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || ::fchmod(fd, kMode) != 0) fail(errno);
    ::close(fd);
  }
  [[noreturn]] void fail(int code) const {
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot write \"{}\": {}", path_, std::generic_category().message(code)),
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

// A folder of this user with our mark and nothing but tables: all of it is removed when it is replaced.
bool is_csv(const std::string& path) {
  std::error_code error;
  if (!is_own_folder(path)) return false;
  RegularFile mark(path + "/" + kMark);
  if (!mark.is_open() || mark.read(kMarkText.size()) != kMarkText) return false;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (std::error_code gone;
        !it->is_regular_file(gone) || (it->path().extension() != ".csv" && it->path().filename() != kMark))
      return false;
  return !error;
}

}  // namespace spscope
