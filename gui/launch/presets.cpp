#include "gui/launch/presets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "backend/base/regular_file.h"
#include "gui/session/settings.h"

namespace spscope::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPresetBytes = 1 << 20;  // as a config may have
constexpr std::string_view kCommand = "#   spscope ";

void read_command(const std::string& line, Task& task) {
  std::istringstream words(line.substr(kCommand.size()));
  std::string verb;
  words >> verb;
  task.verb = verb == "advise" ? Verb::kAdvise : verb == "sweep" ? Verb::kSweep : Verb::kRun;
  for (std::string word; words >> word;)
    if (word == "--over" && words >> word) task.over += (task.over.empty() ? "" : " ") + word;
}

}  // namespace

std::string own_presets_folder() {
  const std::string settings = settings_path();
  return settings.empty() ? "" : (fs::path(settings).parent_path() / "presets").string();
}

Preset described_preset(std::string_view text) {
  Preset preset;
  std::istringstream lines{std::string(text)};
  bool has_command = false;
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    if (line.starts_with(kCommand)) {
      if (!std::exchange(has_command, true)) read_command(line, preset.task);
      continue;
    }
    const std::size_t from = line.find_first_not_of("# ");
    if (from == std::string::npos) continue;
    preset.description += (preset.description.empty() ? "" : " ") + line.substr(from);
  }
  const std::size_t stop = preset.description.find(". ");
  if (stop != std::string::npos) {
    preset.title = preset.description.substr(0, stop);
    preset.description.erase(0, stop + 2);
  } else {
    preset.title = std::exchange(preset.description, "");
    if (preset.title.ends_with(".")) preset.title.pop_back();
  }
  return preset;
}

std::vector<Preset> presets_in(const std::vector<std::string>& folders) {
  std::vector<Preset> presets;
  for (const std::string& folder : folders) {
    std::error_code fault;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, fault))
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& path : files) {
      RegularFile file(path.string());
      const std::optional<std::string> text = file.is_open() ? file.read(kMostPresetBytes) : std::nullopt;
      if (!text) continue;
      Preset& preset = presets.emplace_back(described_preset(*text));
      preset.path = path.string();
      preset.name = path.stem().string();
      if (preset.title.empty()) preset.title = preset.name;
    }
  }
  return presets;
}

}  // namespace spscope::gui
