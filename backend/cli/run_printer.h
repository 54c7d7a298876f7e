// RunPrinter: what `spscope run` prints: progress on stderr, and at the end the comparison that the run stored.
#pragma once

#include <string>
#include <vector>

#include "backend/cli/progress_printer.h"
#include "backend/job/run_listener.h"
#include "backend/study/what_if.h"

namespace spscope {

class RunPrinter final : public RunListener {
 public:
  // `form`: of progress: bar, json or none.
  RunPrinter(CommandContext& context, const std::string& form)
      : context_(context), json_(form == "json"), printer_(context, form) {}

  bool draws() const { return printer_.draws(); }
  // For a rank that a launcher started: the launcher reports the end of the run.
  void leave_the_end() { printer_.leave_the_end(); }
  // --what-if: the result is followed by another one; of JSON, both are printed together.
  void hold_result() { holds_result_ = true; }
  void show_beside(const Comparison& then, const WhatIf& what_if);
  // With form json: prints the last object of the run. Returns its exit code.
  int end(const Result<int>& code) { return printer_.end(code); }

  void progress(const RunProgress& now) override { printer_(now); }
  void note(const std::string& line) override { printer_.note(line); }
  void warn(const std::string& line) override { printer_.warn(line); }
  std::string warning_line(const std::string& line) const override { return printer_.line_of_warning(line); }
  void silence() override { printer_.silence(); }
  void end_progress() override { printer_.clear(); }
  void file_made(const std::string& path) override { printer_.set_out(path); }
  int show_result(const std::string& path, const std::string& wanted) override;
  void interrupted(const std::string& text) override;
  void ended(const RunProgress& last) override { printer_.set_last(last); }

 private:
  CommandContext& context_;
  const bool json_;  // progress
  ProgressPrinter printer_;
  bool holds_result_ = false;
  std::vector<Comparison> held_;
  bool has_table_ = false;  // printed; its headline states that the run was interrupted
};

}  // namespace spscope
