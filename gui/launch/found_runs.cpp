#include "gui/launch/found_runs.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "backend/base/result.h"

namespace spscope::gui {

namespace fs = std::filesystem;

std::vector<std::string> folders_of_runs(const Settings& settings) {
  std::error_code fault;
  std::set<std::string> folders = {fs::current_path(fault).string()};
  folders.insert(settings.run_folders.begin(), settings.run_folders.end());
  for (const std::string& path : settings.recent) folders.insert(fs::path(path).parent_path().string());
  folders.erase("");
  return {folders.begin(), folders.end()};
}

std::vector<FoundRun> find_runs(const std::vector<std::string>& folders) {
  std::set<std::string> paths;
  for (const std::string& folder : folders) {
    std::error_code fault;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, fault))
      if (entry.path().extension() == ".collecting")
        paths.insert(fs::absolute(entry.path()).lexically_normal().string());
  }
  std::vector<FoundRun> runs;
  for (const std::string& path : paths)
    if (Result<CollectingNote> note = capture([&] { return read_collecting(path); }))
      runs.push_back({*note, collector_state(*note)});
  return runs;
}

bool stop_run(const CollectingNote& note) {
  return collector_state(note) == CollectorState::kRuns && ::kill(note.pid, SIGTERM) == 0;
}

}  // namespace spscope::gui
