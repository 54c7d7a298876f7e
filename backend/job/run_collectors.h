// RunCollectors: the collectors of one process of a run, by run.collect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/record/rank_records.h"
#include "collectors/collector.h"

namespace spscope {

class RunCollectors {
 public:
  // Starts those that `collect` asks for (run.collect) on ranks of `device` (run.device); `rows` is the table. Throws
  // Error: one that is named cannot collect.
  RunCollectors(const std::vector<std::string>& collect, std::string_view device, TraceSink& sink,
                const CollectedProcess& process, std::span<const CollectorRow> rows = collectors());

  // Those that collect, for as long as this lives.
  std::vector<Collector*> all() const;
  // Ends them; what one could not hand over is a note. Does nothing when called again.
  void stop();

  // Those that kAutoCollect left out, and why.
  std::vector<std::string> left_out() const;
  // What each took, with its notes, for the rank that the process is stored under; also those that were left out.
  std::vector<CollectorRecord> records(int first_rank) const;

 private:
  struct Started {
    const CollectorRow* row = nullptr;
    std::unique_ptr<Collector> collector;
    std::string failure;  // of stop()
    std::vector<std::string> notes() const;
  };
  struct LeftOut {
    std::string name, why;
  };
  bool has(std::string_view name) const;
  void start(const CollectorRow& row, TraceSink& sink, const CollectedProcess& process);
  void start_all_that_can(TraceSink& sink, const CollectedProcess& process, std::span<const CollectorRow> rows);

  std::vector<Started> started_;
  std::vector<LeftOut> left_out_;
};

}  // namespace spscope
