#include "tests/fake_cuda/settings.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace spscope::fake_cuda {
namespace {

constexpr struct {
  std::string_view name;
  Failure failure;
} kFailures[] = {{"refuse", Failure::kRefuse},
                 {"fail", Failure::kFail},
                 {"hang", Failure::kHang},
                 {"kill", Failure::kKill},
                 {"lose", Failure::kLose}};

struct Number {
  std::string_view name;
  int Settings::*value;
};
constexpr Number kNumbers[] = {
    {"devices", &Settings::devices}, {"sms", &Settings::num_sms},   {"driver", &Settings::driver_version},
    {"peer", &Settings::peer},       {"pitch", &Settings::pitch},   {"unready", &Settings::unready},
    {"queues", &Settings::queues},   {"jitter", &Settings::jitter}, {"slow", &Settings::slow},
    {"lost", &Settings::lost},       {"stale", &Settings::stale}};

// "ATTEND:3" -> "ATTEND" and 3.
std::pair<std::string, int> counted(const std::string& value) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("\"" + value + "\" has no :N");
  return {value.substr(0, colon), std::stoi(value.substr(colon + 1))};
}

// -1: this process is no rank of MPI.
int rank_of_process() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(name)) return std::atoi(rank);
  return -1;
}

bool plant(Settings& settings, const std::string& key, const std::string& value) {
  for (const auto& [name, failure] : kFailures) {
    if (key != name) continue;
    auto planted = std::make_unique<PlantedFailure>();
    planted->failure = failure;
    std::tie(planted->kernel, planted->at) = counted(value);
    if (failure == Failure::kLose) planted->device = std::stoi(planted->kernel);
    settings.failures.push_back(std::move(planted));
    return true;
  }
  return false;
}

bool set(Settings& settings, const std::string& key, const std::string& value) {
  if (const auto* const number = std::ranges::find(kNumbers, key, &Number::name); number != std::end(kNumbers)) {
    settings.*number->value = std::stoi(value);
  } else if (key == "own") {
    settings.own_gpus = 1 + rank_of_process();
  } else if (key == "capability") {
    settings.major = std::stoi(value);
    settings.minor = std::stoi(value.substr(value.find('.') + 1));
  } else if (key == "memory") {
    settings.memory_bytes = std::stoull(value);
  } else if (key == "times" && value == "planted") {
    settings.planted_times = true;
  } else {
    return plant(settings, key, value);
  }
  return true;
}

bool is_meant(const PlantedFailure& planted, std::string_view kernel, int device) {
  if (planted.device >= 0) return planted.device == device;
  if (planted.kernel.ends_with('*')) return kernel.starts_with(planted.kernel.substr(0, planted.kernel.size() - 1));
  return kernel == planted.kernel;
}

}  // namespace

Settings read_settings(std::string_view text) {
  Settings settings;
  int only_rank = -1;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t equal = word.find('=');
    const std::string key = word.substr(0, equal), value = equal == std::string::npos ? "" : word.substr(equal + 1);
    if (key == "rank")
      only_rank = std::stoi(value);
    else if (!set(settings, key, value))
      throw std::runtime_error("SPSCOPE_FAKE_CUDA: \"" + key + "\" is not a setting (tests/fake_cuda/settings.h)");
  }
  if (only_rank >= 0 && only_rank != rank_of_process()) settings.failures.clear();
  return settings;
}

Failure next_failure(Settings& settings, std::string_view kernel, int device) {
  Failure next = Failure::kNone;
  for (const auto& planted : settings.failures)
    if (is_meant(*planted, kernel, device) && ++planted->seen == planted->at) next = planted->failure;
  return next;
}

}  // namespace spscope::fake_cuda
