#include "backend/store/foreign_trace.h"

#include <algorithm>
#include <string_view>

#include "backend/base/regular_file.h"

namespace spscope {
namespace {

// In which the names of the tables of an export are: they are made before any row.
constexpr std::size_t kLooksAtBytes = 1 << 20;

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Views of files of spscope have names of Nsight's tables. The application id is at byte 68 of SQLite's header.
bool is_own(std::string_view text) { return text.size() >= 72 && text.substr(68, 4) == "SPSC"; }

}  // namespace

std::string foreign_trace(const std::string& path) {
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) return "a report of Nsight Systems";
  const RegularFile file(path);
  const std::string text = file.is_open() ? file.read_at(0, kLooksAtBytes) : std::string();
  if (text.starts_with("SQLite format 3"))
    return !is_own(text) && has_any(text, {"CUPTI_ACTIVITY_KIND_", "TABLE StringIds", "TARGET_INFO_SESSION_START_TIME"})
               ? "an export of Nsight Systems"
               : "";
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string::npos && (text[begin] == '{' || text[begin] == '[');
  if (is_json && has_any(text, {"\"deviceProperties\""})) return "a trace of torch.profiler";
  if (is_json && has_any(text, {"\"traceEvents\"", "\"ph\""})) return "a trace in Chrome's format";
  return text.starts_with("\x1f\x8b") && path.ends_with(".json.gz") ? "a compressed trace" : "";
}

}  // namespace spscope
