#include "backend/cli/advise_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/base/error.h"
#include "backend/base/shell_word.h"
#include "backend/study/engine_choice.h"

namespace spscope {
namespace {

// Flags that set a key of the config, with that key.
struct KeyFlag {
  const char *flag, *key;
  std::string AdviseFlags::*value;
};
constexpr KeyFlag kKeyFlags[] = {{"--model", "model.preset", &AdviseFlags::model},
                                 {"--cluster", "cluster.preset", &AdviseFlags::cluster},
                                 {"--density", "mask.density", &AdviseFlags::density},
                                 {"--pattern", "mask.pattern", &AdviseFlags::pattern},
                                 {"--mask", "mask.file", &AdviseFlags::mask},
                                 {"--block", "mask.block", &AdviseFlags::block},
                                 {"--kernel", "run.attention_kernel", &AdviseFlags::kernel},
                                 {"--implementation", "run.implementation", &AdviseFlags::implementation}};

// The frames stay, height and width grow alike, as resolutions do.
TokenGrid scaled_grid(const TokenGrid& grid, std::int64_t tokens) {
  const double area = static_cast<double>(tokens) / grid[0];
  const double height = grid[1] * std::sqrt(area / (static_cast<double>(grid[1]) * grid[2]));
  TokenGrid scaled = {grid[0], std::max(1, static_cast<int>(std::lround(height))), 1};
  scaled[2] = std::max(1, static_cast<int>(std::lround(area / scaled[1])));
  return scaled;
}

// Whether masks are asked for, by a flag, --set or the config.
bool asks_for_masks(const AdviseFlags& flags, const Job& job) {
  return !flags.density.empty() || !flags.pattern.empty() || !flags.mask.empty() ||
         std::ranges::any_of(std::array{"mask.density", "mask.pattern", "mask.file", "model.activations"},
                             [&](const char* key) { return job.places.contains(key); });
}

}  // namespace

std::string typed_question(const AdviseFlags& flags) {
  std::string text;
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
  };
  if (!flags.config.empty()) text += " " + shell_word(flags.config);
  for (const KeyFlag& row : kKeyFlags) add(row.flag, flags.*row.value);
  add("--engine", flags.engine);
  add("--seeds", flags.seeds == kAdviseSeeds ? "" : std::to_string(flags.seeds));
  add("--ranks", flags.ranks > 0 ? std::to_string(flags.ranks) : "");
  add("--tokens", flags.tokens > 0 ? std::to_string(flags.tokens) : "");
  for (const std::string& s : flags.strategies) add("-s", s);
  for (const std::string& s : flags.settings) add("--set", s);
  return text;
}

void require_question(const AdviseFlags& flags) {
  std::vector<Problem> problems;
  const auto require = [&](const std::string& value, const char* flag, const char* list, const char* section) {
    const bool is_set =
        std::ranges::any_of(flags.settings, [&](const std::string& s) { return s.starts_with(section); });
    if (value.empty() && flags.config.empty() && !is_set)
      problems.push_back({ErrorCode::kUsage,
                          "",
                          fmt::format("spscope advise lacks {}, or a config that names it", flag),
                          fmt::format("spscope list {} shows them", list),
                          {}});
  };
  require(flags.model, "--model", "models", "model.preset=");
  require(flags.cluster, "--cluster", "clusters", "cluster.p");
  if (!problems.empty()) throw Error(std::move(problems));
}

AdviseQuestion question_of(const AdviseFlags& flags, const Engine* engine, std::int64_t max_memory_bytes) {
  AdviseQuestion question;
  JobFlags& job = question.job;
  job = {
      flags.config, flags.strategies, {"run.mode=simulate", "run.scope=layer", "run.layers=spread:2", "run.output="}};
  if (job.strategies.empty()) job.strategies = {std::string(kAllStrategies)};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) job.settings.push_back(fmt::format("{}={}", key, value));
  };
  for (const KeyFlag& row : kKeyFlags) {
    const std::string& value = flags.*row.value;
    const bool is_file = value.ends_with(".toml") && std::string_view(row.flag) == "--cluster";
    const std::string key = is_file ? "cluster.profile" : row.key;
    add(key, value);
    if (!value.empty()) job.flags.emplace_back(key, row.flag);
  }
  add("cluster.ranks", flags.ranks > 0 ? std::to_string(flags.ranks) : "");
  job.flags.emplace_back("cluster.ranks", "--ranks");
  if (flags.tokens > 0) {
    JobFlags without_mask = job;
    std::erase_if(without_mask.settings, [](const std::string& s) { return s.starts_with("mask.file="); });
    const TokenGrid grid = scaled_grid(load_job(without_mask, max_memory_bytes).model.grid, flags.tokens);
    add("model.grid", fmt::format("{},{},{}", grid[0], grid[1], grid[2]));
  }
  const std::size_t own = job.settings.size();
  job.settings.insert(job.settings.end(), flags.settings.begin(), flags.settings.end());
  const auto insert = [&](const std::string& setting) {
    job.settings.insert(job.settings.begin() + static_cast<std::ptrdiff_t>(own), setting);
  };
  const Job asked = load_job(job, max_memory_bytes);
  // Of models with two kinds of blocks two layers are one of each, whatever they have more of; three are nearly as they
  // have them.
  if (asked.model.single_layers > 0 && asked.model.single_layers < asked.model.layers) insert("run.layers=spread:3");
  question.dense = !asks_for_masks(flags, asked);
  if (question.dense && !flags.block.empty())
    throw Error(ErrorCode::kUsage, "--block is of sparse masks, and the question is of dense attention",
                "add --density, --pattern or --mask, or leave --block out");
  if (question.dense) insert("mask.pattern=dense");
  if (engine != nullptr)
    for (const std::string& setting : engine_settings(*engine, load_job(job, max_memory_bytes))) insert(setting);
  return question;
}

}  // namespace spscope
