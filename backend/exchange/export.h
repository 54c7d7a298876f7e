// Stored runs in the formats of other programs: one exporter a file, listed in formats.def.
//
// An exporter reads through the SQL tables (event_table.h), row by row, so that memory does not grow with the events.
// It writes to a temporary name beside its destination and renames at the end; an existing destination is replaced only
// with --force and when it is an earlier export of the same format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

class Database;

struct ExportSource {
  std::string path;  // of the stored run
  Database* db = nullptr;
  std::string tool_version = {};          // of the program that wrote it
  std::optional<EventWindow> range = {};  // the events to keep; absent: all. Only of the format `store`.
};

struct ExportReport {
  std::int64_t events = 0;
  std::vector<std::string> notes;  // content that the format cannot hold
};

struct ExportFormat {
  std::string name;  // "plain-sqlite"
  std::string_view summary;
  // Writes the whole export to `path`, which is absent or an earlier export.
  ExportReport (*write)(const ExportSource& source, const std::string& path);
  // Whether `path` is an export of this format.
  bool (*is_ours)(const std::string& path);
};
std::span<const ExportFormat> export_formats();
// Throws Error (kConfigUnknownName) with the nearest known name.
const ExportFormat& find_export_format(std::string_view name);

// `range`: only the events of a range of the file's time. Throws Error (kUsage) for another format, and a range that
// the file has nothing of. Exports the stored run at `input` to `output`. Throws Error: that of open_store;
// kStoreExists when `output` exists and `force` is not set, kStoreForeign when it is not an earlier export of the
// format; kOutputPlace and kStoreWrite when it cannot be written.
ExportReport export_store(const std::string& input, const ExportFormat& format, const std::string& output, bool force,
                          const std::optional<EventWindow>& range = {});

}  // namespace spscope
