#include "collectors/inject/inject.h"

namespace spscope {

std::unique_ptr<Collector> start_cupti(TraceSink& sink, const CollectedProcess& process);
std::optional<std::string> cupti_cannot_collect();

namespace inject {

// Counters of GPUs are those of the host: attach reads them itself, once for all processes.
std::span<const CollectorRow> injected_collectors() {
  static constexpr CollectorRow kRows[] = {{"cupti", "kernels and calls", {}, cupti_cannot_collect, start_cupti}};
  return kRows;
}

}  // namespace inject
}  // namespace spscope
