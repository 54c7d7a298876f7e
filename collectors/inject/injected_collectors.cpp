#include <cstdlib>

#include "backend/record/attach_request.h"
#include "collectors/cupti/nvtx.h"
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

// NVTX calls it by NVTX_INJECTION64_PATH, once for each module that uses it. 0: the module goes on without.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(spscope::cupti::NvtxTables tables) {
  const bool is_attached = std::getenv(spscope::kAttachVariable) != nullptr;
  return is_attached && spscope::cupti::give_to_nvtx(tables) ? 1 : 0;
}
