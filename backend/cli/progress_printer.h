// What `spscope run` says on stderr while it runs: a line that is drawn over itself on a terminal, a plain line a
// minute elsewhere, or one JSON object a line.
#pragma once

#include <cstdint>
#include <string>

#include "backend/cli/command.h"
#include "backend/cli/run_job.h"

namespace spscope {

class ProgressPrinter {
 public:
  // `form`: bar, json or none.
  ProgressPrinter(CommandContext& context, const std::string& form);
  ~ProgressPrinter() { clear(); }
  void operator()(const RunProgress& progress);
  // A line of its own, which stays; nothing with form json.
  void note(const std::string& text);
  // The same for what has to be said in every form; {"note": text} with form json.
  void warn(const std::string& text);
  // Takes the drawn line away. To be called before anything is written to stdout, which may be the same terminal.
  void clear();

 private:
  enum class Form { kNone, kDrawn, kPlain, kJson };
  std::ostream& err_;
  Form form_ = Form::kNone;
  bool drawn_ = false;
  std::int64_t said_ns_;  // when the last plain line was written, or the run began
};

}  // namespace spscope
