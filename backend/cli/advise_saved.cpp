#include "backend/cli/advise_saved.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/base/shell_word.h"
#include "backend/base/whole_file.h"
#include "backend/config/config_text.h"
#include "backend/config/text_file.h"

namespace spscope {
namespace {

// The first line of files that --save writes, and may write again.
constexpr std::string_view kSavedBy = "# spscope advise";

}  // namespace

void require_place_of_advice(const std::string& path) {
  require_writable(path);
  if (!std::filesystem::exists(path)) return;
  constexpr std::size_t kMostBytes = 1 << 20;
  const Result<std::string> old = read_text_file(path, kMostBytes);
  if (!old || !old->starts_with(kSavedBy))
    throw Error(ErrorCode::kOutputPlace, fmt::format("--save {}: the file exists and is not of spscope advise", path),
                "name another file");
}

void save_advice(const AdviseFlags& flags, const Job& job, const Advice& advice) {
  RunConfig config = job.config;
  config.run.strategies = {advice.argument};
  for (const std::string& compared : {advice.runner_up_argument, advice.reference_argument})
    if (!compared.empty() && std::ranges::find(config.run.strategies, compared) == config.run.strategies.end())
      config.run.strategies.push_back(compared);
  // What the times are of, though defaults change.
  config.run.attention_kernel = job.cluster.preset.attention_kernel;
  config.run.implementation = job.cluster.preset.implementation;
  const std::vector<std::uint64_t>& seeds = advice.runs.seeds;
  const std::string note =
      seeds.size() < 2 ? ""
                       : fmt::format("# The answer is the mean of seeds {} to {}, and `spscope run` takes the first.\n",
                                     seeds.front(), seeds.back());
  write_whole_file(flags.save, fmt::format("{}{}\n{}\n{}", kSavedBy, typed_question(flags), note,
                                           runnable_toml(std::move(config), KeysToWrite::kChanged)));
}

std::vector<std::string> next_commands(const AdviseFlags& flags, const Job& job) {
  const std::string file = flags.save.empty() ? "advice.toml" : flags.save;
  const char* supposed = job.cluster.nodes > 1 ? "nic=0.5" : job.cluster.ranks > 1 ? "link=0.5" : "memory=0.5";
  std::vector<std::string> commands;
  if (flags.save.empty()) commands.push_back(fmt::format("spscope advise{} --save {}", typed_question(flags), file));
  commands.push_back(fmt::format("spscope run {} -o advice.db --force", shell_word(file)));
  if (flags.what_if.empty())
    commands.push_back(fmt::format("spscope advise{} --what-if {}", typed_question(flags), supposed));
  return commands;
}

}  // namespace spscope
