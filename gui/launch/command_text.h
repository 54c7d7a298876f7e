// What the window asks `spscope` to do, as words of a command, as a line for a shell, and as a job for Slurm.
#pragma once

#include <string>
#include <vector>

#include "gui/launch/run_form.h"

namespace spscope::gui {

enum class Verb { kRun, kAdvise, kSweep };
inline constexpr const char* kVerbNames[] = {"run", "advise", "sweep"};

// What is to be done with the config of a form.
struct Task {
  Verb verb = Verb::kRun;
  std::string over = {};  // of a sweep, divided by blanks: "cluster.ranks=16,32 mask.density=0.2,0.4"
  bool replace = false;   // an earlier output
};

// {"spscope", "run", "--set", ...} with `program` in front. The output is run.output, absolute.
std::vector<std::string> command_words(const std::string& program, const Task& task, const RunForm& form);
// The words as a shell reads them.
std::string shell_line(const std::vector<std::string>& words);
// A batch script for Slurm that runs the config on one host, or with a process for each rank over several: as
// samples/slurm/spscope.sbatch, with the config in it.
std::string sbatch_script(const RunForm& form);

}  // namespace spscope::gui
