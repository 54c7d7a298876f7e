#include "collectors/inject/inject.h"

namespace spscope {

std::unique_ptr<Collector> start_cupti(TraceSink& sink, const CollectedProcess& process);
std::unique_ptr<Collector> start_nccl(TraceSink& sink, const CollectedProcess& process);

namespace inject {

// Counters of GPUs are those of the host: attach reads them itself, once for all processes.
std::span<const InjectedCollector> injected_collectors() {
  static constexpr InjectedCollector kRows[] = {{"cupti", start_cupti}, {"nccl", start_nccl}};
  return kRows;
}

}  // namespace inject
}  // namespace spscope
