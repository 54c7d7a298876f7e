#include "tests/fake_nvml/settings.h"

#include <sstream>
#include <stdexcept>

namespace spscope::fake_nvml {
namespace {

// What a GPU says unless a test sets it: that of an H100 in the middle of a run.
const std::map<std::string, std::vector<std::uint64_t>> kUsual = {
    {"utilization", {97}},
    {"memory_utilization", {41}},
    {"sm_clock", {1'755}},      // MHz
    {"memory_clock", {2'619}},  // MHz
    {"power", {612'000}},       // mW, the mean of a second
    {"energy", {5'000'000}},    // mJ
    {"temperature", {63}},
    {"memory_used", {21'474'836'480}},
    {"pcie_sent", {1'000'000}},  // KB/s
    {"pcie_received", {2'000'000}},
    {"limits", {0}},
    {"field.186", {640'000}},  // power, mW
    {"field.138", {0}},        // NVLink, KiB
    {"field.139", {0}},
    {"field.197", {0}},  // PCIe, bytes
    {"field.198", {0}},
};

std::vector<std::uint64_t> numbers(const std::string& text) {
  std::vector<std::uint64_t> values;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) values.push_back(std::stoull(part));
  return values;
}

}  // namespace

Settings read_settings(std::string_view text) {
  Settings settings = {.values = kUsual};
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('='), colon = word.find(':');
    const std::string key = word.substr(0, equals);
    if (equals == std::string::npos) throw std::runtime_error("the fake NVML has no setting " + word);
    const std::string what = word.substr(equals + 1, colon == std::string::npos ? colon : colon - equals - 1);
    const std::vector<std::uint64_t> values =
        colon == std::string::npos ? std::vector<std::uint64_t>{} : numbers(word.substr(colon + 1));
    if (key == "gpus" && values.empty()) {
      settings.gpus = std::stoi(what);
    } else if (key == "mig" && values.empty()) {
      settings.mig_gpu = std::stoi(what);
    } else if (key == "gate" && values.empty()) {
      settings.gate = what;
    } else if (key == "set" && !values.empty()) {
      settings.values[what] = values;
    } else if (key == "fail" && !values.empty()) {
      settings.failures[what] = {static_cast<int>(values[0]), values.size() > 1 ? static_cast<int>(values[1]) : 0};
    } else if (key == "lose" && !values.empty()) {
      settings.lost_gpu = std::stoi(what);
      settings.lost_at = static_cast<int>(values[0]);
    } else {
      throw std::runtime_error("the fake NVML has no setting " + word);
    }
  }
  return settings;
}

}  // namespace spscope::fake_nvml
