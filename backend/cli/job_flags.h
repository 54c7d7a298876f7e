// The flags that `run` and `plan` share, declared once.
#pragma once

#include <vector>

#include "backend/cli/flags.h"
#include "backend/job/job.h"

namespace spscope {

inline std::vector<Flag> job_flags(JobFlags& flags) {
  return {
      {.names = "config", .help = "TOML file; without one, a small built-in run", .target = &flags.config},
      {.names = "-s,--strategy",
       .help = "all, NAME or NAME:key=value,... in place of run.strategies; may repeat",
       .target = &flags.strategies},
      {.names = "--set", .help = "section.key=value, over the file's; may repeat", .target = &flags.settings},
  };
}

}  // namespace spscope
