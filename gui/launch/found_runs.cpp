#include "gui/launch/found_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/collect/collection.h"

namespace spscope::gui {

namespace fs = std::filesystem;

namespace {
constexpr std::int64_t kLookEveryNs = 2'000'000'000;
}  // namespace

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
  for (const std::string& path : paths) {
    const Result<CollectingNote> note = capture([&] { return read_collecting(path); });
    if (!note) continue;
    const CollectorState state = collector_state(*note);
    std::error_code fault;
    if (state == CollectorState::kEnded && (!fs::exists(note->folder, fault) || !recovered_to(*note).empty())) continue;
    runs.push_back({*note, state});
  }
  return runs;
}

const std::vector<FoundRun>& RunFinder::look(Session& session) {
  static const std::vector<FoundRun> kNone;
  const std::int64_t now = now_ns();
  if (!found_.loading() && (looked_ns_ == 0 || now - looked_ns_ >= kLookEveryNs)) {
    looked_ns_ = now;
    found_.ask(session.workers(), fmt::format("{}", now),
               [folders = folders_of_runs(session.settings())](Readers&, const Cancelled&, QueryProgress&) {
                 return find_runs(folders);
               });
  }
  const std::vector<FoundRun>* runs = found_.value();
  return runs != nullptr ? *runs : kNone;
}

bool stop_run(const CollectingNote& note) {
  return collector_state(note) == CollectorState::kRuns && ::kill(note.pid, SIGTERM) == 0;
}

}  // namespace spscope::gui
