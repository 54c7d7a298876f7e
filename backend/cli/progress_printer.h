// The progress of `spscope run` and `spscope plan` on stderr: on a terminal a line that is redrawn at least twice a
// second, elsewhere a plain line a minute, or JSON lines: one whenever phase, strategy or layer change, else at most
// one a second and at least one every ten seconds, and a last one with the exit code. Faster changes are limited to a
// burst of a hundred lines and then one a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "backend/base/result.h"
#include "backend/cli/command.h"
#include "backend/collect/run_progress.h"

namespace spscope {

class ProgressPrinter {
 public:
  // `form`: bar, json or none.
  ProgressPrinter(CommandContext& context, const std::string& form);
  ~ProgressPrinter() { clear(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  bool draws() const { return form_ == Form::kDrawn; }
  void operator()(const RunProgress& progress);
  // Prints a line that is not redrawn; nothing with form json.
  void note(const std::string& text);
  // Prints a line in every form; {"note": text} with form json.
  void warn(const std::string& text);
  // The line that warn() writes.
  std::string line_of_warning(const std::string& text) const;
  // Sets the progress that end() reports, without printing.
  void set_last(const RunProgress& progress);
  // The output file that end() reports.
  void set_out(const std::string& path) { out_ = path; }
  // Prints no more progress: for ranks other than the first.
  void silence() { form_ = Form::kNone; }
  // For a rank that a launcher started: the launcher reports the end of the run.
  void leave_the_end() { reports_end_ = false; }
  // With form json: prints the last object of the run. Returns its exit code.
  int end(const Result<int>& code);
  // Erases the drawn line and stops printing progress. Call it before writing to stdout, which may be the same
  // terminal.
  void clear();

 private:
  enum class Form { kNone, kDrawn, kPlain, kJson };
  std::int64_t credit_ns(std::int64_t at_ns) const;
  bool is_due(const RunProgress& before, const RunProgress& now) const;
  void print(const RunProgress& progress);
  void print_periodically();  // the body of ticker_
  void erase();

  std::ostream& err_;
  Form form_ = Form::kNone;
  const bool json_;   // also when silent
  std::mutex mutex_;  // of all below
  std::condition_variable ended_;
  std::thread ticker_;
  RunProgress last_;
  std::string out_;
  bool drawn_ = false, is_over_ = false, is_unprinted_ = false, reports_end_ = true;
  std::int64_t printed_ns_;  // when the last line was written, or the run began
  std::int64_t credit_ns_;   // for JSON lines: each costs a second, elapsed time is added
};

}  // namespace spscope
