#include "backend/cli/replaceable.h"

#include <fmt/format.h>

#include "backend/base/error.h"
#include "backend/base/whole_file.h"
#include "backend/store/output_file.h"

namespace spscope {

void require_replaceable(const std::string& path, bool force) {
  const FileKind kind = file_kind(path);
  const bool is_plain = kind == FileKind::kForeign || kind == FileKind::kEmpty;
  if (kind == FileKind::kAbsent || (is_plain && force)) return require_writable(path);
  if (is_plain)
    throw Error(ErrorCode::kStoreExists, fmt::format("the file exists: \"{}\"", path),
                "name another file, or add --force");
  if (kind == FileKind::kStore)
    throw Error(ErrorCode::kStoreExists, fmt::format("a stored run is replaced only by a run: \"{}\"", path),
                "name another file");
  throw Error(ErrorCode::kOutputPlace, fmt::format("not a file that can be replaced: \"{}\"", path),
              "name another file");
}

}  // namespace spscope
