#include "backend/exchange/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "backend/base/error.h"
#include "backend/base/nearest_name.h"
#include "backend/base/whole_file.h"
#include "backend/store/open_store.h"

namespace spscope {

#define EXPORT_FORMAT(name, summary)                                               \
  ExportReport export_##name(const ExportSource& source, const std::string& path); \
  bool is_##name(const std::string& path);
#include "backend/exchange/formats.def"
#undef EXPORT_FORMAT

namespace {

std::vector<ExportFormat> all_formats() {
  std::vector<ExportFormat> formats = {
#define EXPORT_FORMAT(name, summary) {#name, summary, export_##name, is_##name},
#include "backend/exchange/formats.def"
#undef EXPORT_FORMAT
  };
  for (ExportFormat& format : formats) std::replace(format.name.begin(), format.name.end(), '_', '-');
  return formats;
}

void check_place(const ExportFormat& format, const std::string& path, bool force) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  const bool exists = std::filesystem::exists(status);
  if (exists && !format.is_ours(path))
    throw Error(
        ErrorCode::kStoreForeign, fmt::format("\"{}\" exists and is not an export of the format {}", path, format.name),
        std::filesystem::is_directory(status)
            ? fmt::format("name an output inside this folder: -o {}", (std::filesystem::path(path) / "NAME").string())
            : "name another place with -o; --force replaces earlier exports only");
  if (exists && !force)
    throw Error(ErrorCode::kStoreExists, fmt::format("\"{}\" exists", path),
                "name another place with -o, or add --force");
  require_writable(path);
}

}  // namespace

std::span<const ExportFormat> export_formats() {
  static const std::vector<ExportFormat> formats = all_formats();
  return formats;
}

const ExportFormat& find_export_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ExportFormat& format : export_formats()) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error(ErrorCode::kConfigUnknownName, fmt::format("there is no export format \"{}\"", name),
              name == "csv"  ? "spscope sql FILE \"SELECT * FROM event\" --csv prints any table"
              : near.empty() ? fmt::format("formats are {}", fmt::join(names, ", "))
                             : fmt::format("did you mean \"{}\"?", near));
}

ExportReport export_store(const std::string& input, const ExportFormat& format, const std::string& output, bool force,
                          const std::optional<EventWindow>& range) {
  if (range && format.name != "store")
    throw Error(ErrorCode::kUsage, fmt::format("the format {} has no range: it holds all events", format.name),
                "export a store of the range with --format store, then that one");
  check_place(format, output, force);
  std::error_code unknown;
  if (std::filesystem::equivalent(input, output, unknown))
    throw Error(ErrorCode::kUsage, fmt::format("\"{}\" would be replaced by an export of itself", input),
                "name another place with -o");
  OpenedStore store = open_store(input);
  return format.write({input, &store.db, store.file.tool_version, range}, output);
}

}  // namespace spscope
