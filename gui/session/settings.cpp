#include "gui/session/settings.h"

#include <algorithm>
#include <filesystem>

#include "backend/base/json.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/config/environment.h"

namespace spscope::gui {
namespace {

constexpr std::size_t kMostRecent = 20, kMostBytes = 1 << 20;

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> out;
  if (list != nullptr && list->is_array())
    for (const Json& item : *list)
      if (item.is_text()) out.push_back(item.text());
  return out;
}

template <typename Number>
void read_number(const Json& json, std::string_view key, Number& value, double least, double most) {
  const Json* found = json.find(key);
  if (found != nullptr && found->is_number()) value = static_cast<Number>(std::clamp(found->number(), least, most));
}
void read_flag(const Json& json, std::string_view key, bool& value) {
  if (const Json* found = json.find(key)) value = found->dump() == "true";
}

void put_first(std::vector<std::string>& list, const std::string& text) {
  std::erase(list, text);
  list.insert(list.begin(), text);
  if (list.size() > kMostRecent) list.resize(kMostRecent);
}

}  // namespace

void Settings::add_recent(const std::string& path) { put_first(recent, path); }
void Settings::add_run_folder(const std::string& folder) { put_first(run_folders, folder); }

std::string settings_path() {
  const std::string folder = settings_folder();
  return folder.empty() ? "" : folder + "/spscope/desktop.json";
}

Settings load_settings(const std::string& path) {
  Settings settings;
  settings.folder = path.empty() ? "" : std::filesystem::path(path).parent_path().string();
  RegularFile file(path);
  const auto text = file.is_open() ? file.read(kMostBytes) : std::nullopt;
  const auto json = text ? Json::parse(*text) : std::nullopt;
  if (!json || !json->is_object()) return settings;
  if (const std::string theme = json->text_or("theme", ""); !theme.empty()) settings.dark = theme == "dark";
  read_number(*json, "scale", settings.user_scale, 0.5, 3);
  read_number(*json, "width", settings.width, 640, 16384);
  read_number(*json, "height", settings.height, 400, 16384);
  read_number(*json, "details_width", settings.details_width, 180, 900);
  read_number(*json, "table_height", settings.table_height, 80, 1200);
  read_flag(*json, "details", settings.details);
  read_flag(*json, "table", settings.table);
  read_flag(*json, "less_motion", settings.less_motion);
  settings.recent = texts(json->find("recent"));
  settings.used_hints = texts(json->find("used_hints"));
  settings.run_folders = texts(json->find("run_folders"));
  if (const Json* keys = json->find("keys"); keys != nullptr && keys->is_array())
    for (const Json& row : *keys) settings.keys[row.text_or("command", "")] = row.text_or("keys", "");
  return settings;
}

std::string save_settings(const Settings& settings, const std::string& path) {
  if (path.empty()) return "neither XDG_CONFIG_HOME nor HOME is set";
  Json json = Json::object();
  if (settings.dark) json["theme"] = *settings.dark ? "dark" : "light";
  json["scale"] = settings.user_scale;
  json["width"] = settings.width;
  json["height"] = settings.height;
  json["details_width"] = settings.details_width;
  json["table_height"] = settings.table_height;
  json["details"] = settings.details;
  json["table"] = settings.table;
  json["less_motion"] = settings.less_motion;
  json["recent"] = settings.recent;
  json["used_hints"] = settings.used_hints;
  json["run_folders"] = settings.run_folders;
  Json keys = Json::array();
  for (const auto& [command, text] : settings.keys) {
    Json row = Json::object();
    row["command"] = command;
    row["keys"] = text;
    keys.push_back(std::move(row));
  }
  json["keys"] = std::move(keys);
  const auto fault = failure_of([&] {
    std::error_code made;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), made);
    write_whole_file(path, json.dump(2) + "\n");
  });
  return fault ? fault->what() : "";
}

}  // namespace spscope::gui
