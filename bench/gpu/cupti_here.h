// CuptiHere: the libcupti with which checks watch this process. A machine may have several: of a toolkit, and one with
// PyTorch. It must be no newer than the driver, and of the newest CUDA among those.
#pragma once

#include <memory>
#include <string>

#include "bench/gpu/check.h"
#include "collectors/collector.h"

namespace spscope::gpu_check {

class CuptiHere {
 public:
  // Opens it. Without one the result is skipped, with what to do; else its facts name the file.
  CuptiHere(const CheckContext& context, CheckResult& result);
  bool is_missing() const { return path_.empty(); }

  // The collector `cupti` of a process of rank 0. Throws Error (kCannotCollect): CUPTI refuses.
  std::unique_ptr<Collector> start(TraceSink& sink) const;

 private:
  std::string path_;
};

// What a collector says that it did not collect, into the facts of a result.
void add_notes(const Collector& collector, CheckResult& result);

}  // namespace spscope::gpu_check
