#include "backend/config/text_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "backend/base/regular_file.h"

namespace spscope {
namespace {

Error unreadable(const std::string& path, std::string_view why) {
  std::error_code unknown;  // where there is no current folder any more
  const std::string looked_for = std::filesystem::absolute(path, unknown).lexically_normal().string();
  return Error({Problem{ErrorCode::kConfigFile,
                        "",
                        fmt::format("cannot read the file: {}", why),
                        fmt::format("give the path of a TOML file; {}relative ones start at the current folder, or "
                                    "that of the config",
                                    looked_for == path || unknown ? "" : "looked for " + looked_for + "; "),
                        {path}}});
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  RegularFile file(path);
  if (!file.is_open()) return unreadable(path, file.reason());
  std::optional<std::string> text = file.read(max_bytes);
  if (!text) return unreadable(path, file.reason());
  return std::move(*text);
}

}  // namespace spscope
