// The table of collectors.
#include "collectors/collector.h"

namespace spscope {

#define COLLECTOR_ROW(name, other, summary, in_runs)  \
  std::optional<std::string> name##_cannot_collect(); \
  std::unique_ptr<Collector> start_##name(TraceSink& sink, const CollectedProcess& process);
#define COLLECTOR_IN_PLACE_OF(name, other, summary) COLLECTOR_ROW(name, other, summary, true)
#define COLLECTOR(name, summary) COLLECTOR_ROW(name, , summary, true)
#define COLLECTOR_OF_PROGRAMS(name, summary) COLLECTOR_ROW(name, , summary, false)
#include "collectors/collectors.def"
#undef COLLECTOR_ROW

std::span<const CollectorRow> collectors() {
  static constexpr CollectorRow kRows[] = {
#define COLLECTOR_ROW(name, other, summary, in_runs) \
  {#name, summary, #other, name##_cannot_collect, start_##name, in_runs},
#include "collectors/collectors.def"
#undef COLLECTOR_ROW
#undef COLLECTOR_IN_PLACE_OF
#undef COLLECTOR
#undef COLLECTOR_OF_PROGRAMS
  };
  return kRows;
}

}  // namespace spscope
