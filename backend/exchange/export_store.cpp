// The format `store`: a stored run as another one with the same tables, of which only the events of a range of time may
// be kept, to pass on the part that matters.
#include "backend/exchange/export.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/output_file.h"

namespace spscope {

ExportReport export_store(const ExportSource& source, const std::string& path) {
  OutputFile out(path, true);
  MergeOptions options;
  options.tool_version = source.tool_version;
  options.range = source.range;
  const MergeReport merged = merge_shards(out, std::vector<std::string>{source.path}, options);
  return {.events = merged.events, .notes = merged.notes};
}

bool is_store(const std::string& path) { return file_kind(path) == FileKind::kStore; }

}  // namespace spscope
