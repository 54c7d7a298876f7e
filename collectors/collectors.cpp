// The table of collectors.
#include "collectors/collector.h"

namespace spscope {

#define COLLECTOR_IN_PLACE_OF(name, other, summary)   \
  std::optional<std::string> name##_cannot_collect(); \
  std::unique_ptr<Collector> start_##name(TraceSink& sink, const CollectedProcess& process);
#define COLLECTOR(name, summary) COLLECTOR_IN_PLACE_OF(name, , summary)
#include "collectors/collectors.def"
#undef COLLECTOR
#undef COLLECTOR_IN_PLACE_OF

std::span<const CollectorRow> collectors() {
  static constexpr CollectorRow kRows[] = {
#define COLLECTOR_IN_PLACE_OF(name, other, summary) {#name, summary, #other, name##_cannot_collect, start_##name},
#define COLLECTOR(name, summary) {#name, summary, {}, name##_cannot_collect, start_##name},
#include "collectors/collectors.def"
#undef COLLECTOR
#undef COLLECTOR_IN_PLACE_OF
  };
  return kRows;
}

}  // namespace spscope
