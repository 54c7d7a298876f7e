#include "tests/fake_cupti/settings.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace spscope::fake_cupti {
namespace {

struct Number {
  std::string_view name;
  int Settings::*value;
};
constexpr Number kNumbers[] = {{"drop", &Settings::drop},       {"untimed", &Settings::untimed},
                               {"damage", &Settings::damage},   {"shapes", &Settings::shapes},
                               {"late", &Settings::late},       {"kernel_bytes", &Settings::kernel_bytes},
                               {"slow_ms", &Settings::slow_ms}, {"version", &Settings::version}};

}  // namespace

Settings read_settings(std::string_view text) {
  Settings settings;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto* const number = std::ranges::find(kNumbers, key, &Number::name);
    if (number != std::end(kNumbers)) {
      settings.*number->value = std::stoi(value);
    } else if (key == "other") {
      std::replace(value.begin(), value.end(), '_', ' ');
      settings.other = value;
    } else if (key == "fail") {
      const std::size_t colon = value.find(':');
      settings.failures[value.substr(0, colon)] = std::stoi(value.substr(colon + 1));
    } else if (key == "silent") {
      settings.silent = value == "1";
      settings.silent_at_start = value == "start";
    } else {
      throw std::runtime_error("the fake CUPTI has no setting " + word);
    }
  }
  return settings;
}

}  // namespace spscope::fake_cupti
