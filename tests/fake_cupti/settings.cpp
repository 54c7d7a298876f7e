#include "tests/fake_cupti/settings.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace spscope::fake_cupti {

Settings read_settings(std::string_view text) {
  Settings settings;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "other") {
      std::replace(value.begin(), value.end(), '_', ' ');
      settings.other = value;
    } else if (key == "fail") {
      const std::size_t colon = value.find(':');
      settings.failures[value.substr(0, colon)] = std::stoi(value.substr(colon + 1));
    } else if (key == "drop") {
      settings.drop = std::stoi(value);
    } else if (key == "untimed") {
      settings.untimed = std::stoi(value);
    } else if (key == "damage") {
      settings.damage = std::stoi(value);
    } else if (key == "take") {
      settings.take = std::stoi(value);
    } else if (key == "shapes") {
      settings.shapes = std::stoi(value);
    } else if (key == "late") {
      settings.late = value == "1";
    } else if (key == "silent") {
      settings.silent = value == "1";
      settings.silent_at_start = value == "start";
    } else if (key == "version") {
      settings.version = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "kernel_bytes") {
      settings.kernel_bytes = static_cast<std::size_t>(std::stoul(value));
    } else {
      throw std::runtime_error("the fake CUPTI has no setting " + word);
    }
  }
  return settings;
}

}  // namespace spscope::fake_cupti
