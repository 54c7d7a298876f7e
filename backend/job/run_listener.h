// RunListener: who shows a run to people or programs while it goes on and when it has ended: the command line, a test.
#pragma once

#include <string>

#include "backend/collect/run_progress.h"

namespace spscope {

class RunListener {
 public:
  virtual ~RunListener() = default;

  // While the run goes on, from any of its threads.
  virtual void progress(const RunProgress& now) = 0;
  // A line for people; programs that read the output do not get it.
  virtual void note(const std::string& line) = 0;
  // A line for people and programs.
  virtual void warn(const std::string& line) = 0;
  // What warn() writes: for a process that can only write once more.
  virtual std::string warning_line(const std::string& line) const = 0;
  // Another process of this run reports from now on.
  virtual void silence() = 0;

  // At the end, in this order, by the thread that runs the job. Progress is over:
  virtual void end_progress() = 0;
  // The file that was made, as the user named it; "": none that stays.
  virtual void file_made(const std::string& path) = 0;
  // Shows what is stored at `path`, under the name of `wanted`. The exit code.
  virtual int show_result(const std::string& path, const std::string& wanted) = 0;
  // `text`: how far an interrupted run came. What was shown may say so already.
  virtual void interrupted(const std::string& text) = 0;
  // The last progress, with exit code and cause.
  virtual void ended(const RunProgress& last) = 0;
};

}  // namespace spscope
