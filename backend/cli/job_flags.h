// The flags that `run` and `plan` share, declared once.
#pragma once

#include <CLI/CLI.hpp>

#include "backend/job/job.h"

namespace spscope {

inline void declare_job_flags(CLI::App& app, JobFlags& flags) {
  app.add_option("config", flags.config, "TOML file; without one, a small built-in run");
  app.add_option("-s,--strategy", flags.strategies,
                 "NAME or NAME:key=value,... in place of run.strategies; may repeat");
  app.add_option("--set", flags.settings, "section.key=value, over the file's; may repeat");
}

}  // namespace spscope
