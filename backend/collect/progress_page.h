// The progress page: where a run is (run_progress.h), in a small file in its folder, for `watch`.
#pragma once

#include <optional>
#include <string>

#include "backend/collect/run_progress.h"

namespace spscope {

// Writes the page. The process that merges a run makes it, and rank 0 writes it too. A write replaces the page as a
// whole, and readers find out that one is half written. A write that fails is skipped: the page only informs observers.
class ProgressPage {
 public:
  explicit ProgressPage(const std::string& path);
  ~ProgressPage();
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  void write(const RunProgress& progress) const;
  std::optional<RunProgress> read() const;
  // Adds to what is there: why the run fails, and that it ends.
  void set_cause(const std::string& cause, int rank, const std::string& id = "") const;
  void set_end(int exit_code) const;

 private:
  RunProgress now() const;

  int file_;
};

// Reads the page, also when the folder of the run has been removed meanwhile.
class ProgressReader {
 public:
  explicit ProgressReader(std::string path) : path_(std::move(path)) {}
  ~ProgressReader();
  ProgressReader(const ProgressReader&) = delete;
  ProgressReader& operator=(const ProgressReader&) = delete;

  // Nothing when there is no page, or it is none.
  std::optional<RunProgress> read();

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace spscope
