// What `spscope run` and `spscope plan` say on stderr while they work: a line that is drawn over itself on a terminal
// at least twice a second, a plain line a minute elsewhere, or JSON lines: one whenever phase, strategy or layer
// change, else one a second at most and one every ten seconds at least, and one that says how it ended. Of changes that
// follow one another faster, a hundred are told, and then one a second.
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
  // A line of its own, which stays; nothing with form json.
  void note(const std::string& text);
  // The same for what has to be said in every form; {"note": text} with form json.
  void warn(const std::string& text);
  // The line that warn() writes.
  std::string line_of_warning(const std::string& text) const;
  // Where the run is, without a line of its own.
  void know(const RunProgress& progress);
  // The file that the run left.
  void set_out(const std::string& path) { out_ = path; }
  // Says nothing any more: of a rank that is not the first.
  void silence() { form_ = Form::kNone; }
  // Of a rank that others started, who say how the run ended.
  void leave_the_end() { tells_end_ = false; }
  // With form json: says how the run ended, and returns its exit code.
  int end(const Result<int>& code);
  // Takes the drawn line away, and says nothing of itself from then on. To be called before anything is written to
  // stdout, which may be the same terminal.
  void clear();

 private:
  enum class Form { kNone, kDrawn, kPlain, kJson };
  std::int64_t credit_ns(std::int64_t at_ns) const;
  bool is_due(const RunProgress& before, const RunProgress& now) const;
  void say(const RunProgress& progress);  // at once
  void say_on();                          // now and then, in a thread of its own
  void erase();

  std::ostream& err_;
  Form form_ = Form::kNone;
  const bool json_;   // also when silent
  std::mutex mutex_;  // of all below
  std::condition_variable ended_;
  std::thread ticker_;
  RunProgress last_;
  std::string out_;
  bool drawn_ = false, is_over_ = false, is_unsaid_ = false, tells_end_ = true;
  std::int64_t said_ns_;    // when the last line was written, or the run began
  std::int64_t credit_ns_;  // of JSON lines: one costs a second, and time brings it back
};

}  // namespace spscope
