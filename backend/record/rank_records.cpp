#include "backend/record/rank_records.h"

#include <cstddef>

namespace spscope {

std::string_view incident_kind_name(IncidentKind kind) {
  static constexpr std::string_view names[kNumIncidentKinds] = {"failed", "hung", "stopped",
                                                                "killed", "lost", "interrupted"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view collector_outcome_name(CollectorOutcome outcome) {
  static constexpr std::string_view names[kNumCollectorOutcomes] = {"complete", "cut off", "not started"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace spscope
