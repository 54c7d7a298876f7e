#include "backend/analysis/changed_settings.h"

#include <map>
#include <set>
#include <string_view>

#include "backend/config/toml_text.h"

namespace spscope {
namespace {

std::string text_of(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return toml_quoted(*text);
  return to_text(value);
}

std::string text_of(const TomlValue& value) {
  if (const auto* single = std::get_if<ParameterValue>(&value)) return text_of(*single);
  const auto* list = std::get_if<std::vector<ParameterValue>>(&value);
  if (list == nullptr) return std::get<NotAValue>(value).what;
  std::string text;
  for (const ParameterValue& item : *list) text += (text.empty() ? "" : ", ") + text_of(item);
  return "[" + text + "]";
}

// The settings of a text by key; a text that is no TOML is one setting.
std::map<std::string, std::string> settings_of(const std::string& toml, bool cluster) {
  std::map<std::string, std::string> settings;
  const auto entries = read_toml(toml, "stored");
  if (!entries) return {{"text", toml_quoted(toml)}};
  for (const TomlEntry& entry : *entries) {
    std::string name = entry.name();
    if (cluster) {
      if (name.ends_with(".source") || name == "note") continue;
      constexpr std::string_view kValue = ".value";
      if (name.ends_with(kValue)) name.resize(name.size() - kValue.size());
      name.insert(0, "cluster ");
    }
    settings[name] = text_of(entry.value);
  }
  return settings;
}

void add_changes(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& after,
                 std::vector<ChangedSetting>& changes) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  for (const std::string& key : keys) {
    const auto a = before.find(key), b = after.find(key);
    const std::string was = a == before.end() ? "" : a->second, is = b == after.end() ? "" : b->second;
    if (was != is) changes.push_back({key, was, is});
  }
}

}  // namespace

std::vector<ChangedSetting> changed_settings(const WorkloadRecord& before, const WorkloadRecord& after) {
  std::vector<ChangedSetting> changes;
  add_changes(settings_of(before.config_toml, false), settings_of(after.config_toml, false), changes);
  add_changes(settings_of(before.cluster_toml, true), settings_of(after.cluster_toml, true), changes);
  return changes;
}

}  // namespace spscope
