#include "bench/gpu/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/whole_file.h"
#include "bench/gpu/command.h"

namespace spscope::gpu_check {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTexts[] = {".txt", ".json", ".md", ".toml", ".csv", ".log"};
constexpr const char *kLeftOut = "not-archived.txt", *kChosen = "archived.txt";

}  // namespace

void write_archive(const std::string& folder, const std::string& file) {
  std::vector<std::pair<std::int64_t, std::string>> texts;  // bytes, path below the folder
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && std::ranges::count(kTexts, entry.path().extension().string()) > 0)
      texts.emplace_back(entry.file_size(), fs::relative(entry.path(), folder).string());
  std::ranges::sort(texts);
  std::int64_t used = 0;
  std::string chosen = fmt::format("{}\n", kLeftOut), left_out;
  for (const auto& [bytes, path] : texts) {
    if (path == kLeftOut || path == kChosen) continue;
    if (used + bytes > kArchiveRoom)
      left_out += fmt::format("{} ({} bytes)\n", path, bytes);
    else
      used += bytes, chosen += path + "\n";
  }
  write_whole_file(fmt::format("{}/{}", folder, kLeftOut), left_out);
  write_whole_file(fmt::format("{}/{}", folder, kChosen), chosen);
  const std::string part = file + ".part", said = folder + "/tar.txt";
  const CommandEnd end = run_command({"tar", "-czf", part, "-C", folder, "-T", fmt::format("{}/{}", folder, kChosen)},
                                     {.output = said, .timeout_s = 60});
  if (!end.found || end.exit_code != 0)
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("\"{}\" cannot be written: {}", file, end.found ? tail_of(said) : "there is no tar"),
                "choose another --archive, or none");
  fs::rename(part, file);
}

}  // namespace spscope::gpu_check
