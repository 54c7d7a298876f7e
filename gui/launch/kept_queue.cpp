#include "gui/launch/kept_queue.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "backend/base/json.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/record/now_page.h"
#include "gui/launch/command_text.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "waiting-";
constexpr std::size_t kMostQueueBytes = 1 << 22;

std::optional<Json> read(const std::string& path) {
  RegularFile file(path);
  const auto text = file.is_open() ? file.read(kMostQueueBytes) : std::nullopt;
  auto json = text ? Json::parse(*text) : std::nullopt;
  return json && json->is_object() ? json : std::nullopt;
}

// Whether the window that wrote the file is there. A number of a process is used again: its start tells which it was.
bool is_there(const Json& json) {
  const Json* pid = json.find("pid");
  const auto number = pid != nullptr ? pid->integer(1, std::numeric_limits<int>::max()) : std::nullopt;
  return number && std::to_string(process_start_ticks(static_cast<int>(*number))) == json.text_or("start_ticks", "");
}

std::vector<KeptRun> runs_of(const Json& json, const std::string& program) {
  std::vector<KeptRun> runs;
  const Json* list = json.find("runs");
  if (list == nullptr || !list->is_array()) return runs;
  for (const Json& one : *list) {
    KeptRun run{one.text_or("title", ""), one.text_or("out", ""), {}};
    if (const Json* words = one.find("words"); words != nullptr && words->is_array())
      for (const Json& word : *words)
        if (word.is_text()) run.words.push_back(word.text());
    if (run.words.size() < 2 || std::ranges::find(kVerbNames, run.words[1]) == std::end(kVerbNames)) continue;
    run.words[0] = program;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

std::string KeptQueue::path() const { return fmt::format("{}/{}{}.json", folder_, kPrefix, ::getpid()); }

std::string KeptQueue::keep(const std::vector<QueuedRun>& runs) {
  std::vector<KeptRun> waiting;
  for (const QueuedRun& run : runs)
    if (run.state == RunState::kWaiting) waiting.push_back({run.title, run.out, run.words});
  if (folder_.empty() || waiting == kept_) return "";
  kept_ = std::move(waiting);
  std::error_code ignored;
  if (kept_.empty()) {
    fs::remove(path(), ignored);
    return "";
  }
  Json list = Json::array();
  for (const KeptRun& run : kept_) list.push_back({{"title", run.title}, {"out", run.out}, {"words", run.words}});
  const Json json{{"pid", static_cast<int>(::getpid())},
                  {"start_ticks", std::to_string(process_start_ticks(::getpid()))},
                  {"runs", std::move(list)}};
  const auto fault = failure_of([&] {
    fs::create_directories(folder_, ignored);
    write_whole_file(path(), json.dump(2) + "\n");
  });
  return fault && !std::exchange(said_, true) ? fault->what() : "";
}

std::vector<std::string> KeptQueue::files_of_gone_windows() const {
  std::vector<std::pair<fs::file_time_type, std::string>> files;
  std::error_code fault;
  if (folder_.empty()) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, fault)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || entry.path().extension() != ".json") continue;
    const std::optional<Json> json = read(entry.path().string());
    if (json && !is_there(*json)) files.emplace_back(entry.last_write_time(fault), entry.path().string());
  }
  std::ranges::sort(files);
  std::vector<std::string> paths;
  for (const auto& [time, file] : files) paths.push_back(file);
  return paths;
}

std::vector<KeptRun> KeptQueue::left(const std::string& program) const {
  std::vector<KeptRun> runs;
  for (const std::string& file : files_of_gone_windows())
    if (const std::optional<Json> json = read(file))
      for (KeptRun& run : runs_of(*json, program)) runs.push_back(std::move(run));
  return runs;
}

std::vector<KeptRun> KeptQueue::take_left(const std::string& program) const {
  std::vector<KeptRun> runs;
  for (const std::string& file : files_of_gone_windows()) {
    const std::optional<Json> json = read(file);
    std::error_code fault;
    if (!json || !fs::remove(file, fault)) continue;  // another window was first
    for (KeptRun& run : runs_of(*json, program)) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace spscope::gui
