#include "gui/launch/command_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "backend/base/result.h"
#include "backend/base/shell_word.h"
#include "backend/config/validate.h"

namespace spscope::gui {
namespace {

// A word that ends a here-document and is no line of `text`.
std::string end_word(const std::string& text) {
  std::string word = "END_OF_CONFIG";
  while (text.find(word) != std::string::npos) word += "_";
  return word;
}

}  // namespace

std::vector<std::string> command_words(const std::string& program, const Task& task, const RunForm& form) {
  std::vector<std::string> words = {program, kVerbNames[static_cast<int>(task.verb)]};
  const std::vector<std::string> asked = form.arguments();
  words.insert(words.end(), asked.begin(), asked.end());
  if (form.changed("run.scratch")) words.insert(words.end(), {"--set", "run.scratch=" + form.text("run.scratch")});
  if (std::istringstream all(task.verb == Verb::kSweep ? task.over : ""); all)
    for (std::string over; all >> over;) words.insert(words.end(), {"--over", over});
  const std::string& output = form.config().run.output;
  if (task.verb != Verb::kAdvise && !output.empty()) {
    words.insert(words.end(), {"-o", std::filesystem::absolute(output).lexically_normal().string()});
    if (task.replace) words.emplace_back("--force");
  }
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string sbatch_script(const RunForm& form) {
  RunConfig config = form.config();
  const std::string output = config.run.output.empty() ? "run.db" : config.run.output;
  config.run.output.clear();
  const Result<ResolvedConfig> resolved = capture([&] { return resolve(config); });
  const int nodes = resolved ? resolved->cluster.nodes : 1, ranks = resolved ? resolved->cluster.ranks : 1;
  const bool processes = config.run.mode == RunMode::kExecute && (nodes > 1 || config.run.backend == "mpi");
  const int tasks = processes ? (ranks + nodes - 1) / nodes : 1;
  const int cores = processes                              ? config.run.threads_per_rank
                    : config.run.mode == RunMode::kExecute ? ranks * config.run.threads_per_rank
                                                           : 1;
  const std::string toml = to_toml(config), end = end_word(toml);
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# sbatch FILE: written by spscope-gui. A minute before the time limit the run is stopped and keeps what is "
      "complete.\n"
      "#SBATCH --job-name=spscope\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node={}\n#SBATCH --cpus-per-task={}\n"
      "#SBATCH --time=00:30:00\n#SBATCH --signal=B:USR1@60\n#SBATCH --output=%x-%j.log\n"
      "set -euo pipefail\nout={}\nconfig=$out.$SLURM_JOB_ID.toml\ncat >\"$config\" <<'{}'\n{}{}\n\n",
      processes ? nodes : 1, tasks, cores, shell_word(output), end, toml, end);
  text +=
      "# Shards are collected on each node's own disk (run.scratch), brought to the first node and merged into $out.\n"
      "export SLURM_TMPDIR=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}\n";
  text += processes ? "srun --mpi=pmix --kill-on-bad-exit=0 \"${SPSCOPE:-spscope}\" run \"$config\" --launcher mpi "
                      "--headless -o \"$out\" &\n"
                    : "srun --ntasks=1 \"${SPSCOPE:-spscope}\" run \"$config\" --headless -o \"$out\" &\n";
  text +=
      "step=$!\ntrap 'kill -USR1 \"$step\"' USR1 TERM\n"
      "code=0\nwait \"$step\" || code=$?\n"
      "while kill -0 \"$step\" 2>/dev/null; do  # a trapped signal ends wait before the step has ended\n"
      "  code=0\n  wait \"$step\" || code=$?\ndone\nexit \"$code\"\n";
  return text;
}

}  // namespace spscope::gui
