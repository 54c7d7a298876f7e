#include "backend/record/rank_records.h"

#include <cstddef>

namespace spscope {

std::string_view incident_kind_name(IncidentKind kind) {
  static constexpr std::string_view names[kNumIncidentKinds] = {"failed", "hung", "stopped",
                                                                "killed", "lost", "interrupted"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace spscope
