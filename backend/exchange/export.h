// Stored runs in the formats of other programs: one exporter a file, listed in formats.def.
//
// An exporter reads through the tables that SQL sees (event_table.h), row by row, so that memory does not grow with the
// events. It writes beside its destination and renames at the end; what is there already is replaced only when it is an
// earlier export of the same format and the user said so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spscope {

class Database;

struct ExportSource {
  std::string path;  // of the stored run
  Database* db = nullptr;
};

struct ExportReport {
  std::int64_t events = 0;
  std::vector<std::string> notes;  // what could not be kept
};

struct ExportFormat {
  std::string name;  // "plain-sqlite"
  std::string_view summary;
  // Writes the whole export to `path`, where nothing or an earlier export lies.
  ExportReport (*write)(const ExportSource& source, const std::string& path);
  // Whether an export of this format lies at `path`.
  bool (*is_ours)(const std::string& path);
};
std::span<const ExportFormat> export_formats();
// Throws Error (kConfigUnknownName) with the nearest known name.
const ExportFormat& find_export_format(std::string_view name);

// Exports the stored run at `input` to `output`. Throws Error: what open_store throws; kStoreExists when something is
// at `output` and `force` is not set, kStoreForeign when it is not an earlier export of the format; kOutputPlace and
// kStoreWrite when it cannot be written.
ExportReport export_store(const std::string& input, const ExportFormat& format, const std::string& output, bool force);

}  // namespace spscope
