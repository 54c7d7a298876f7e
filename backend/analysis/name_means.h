// How long events of each name take in a layer pass, as means over ranks: what a comparison by event shows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/plan/timeline.h"

namespace spscope {

// By the name of an event: its time from begin to end, without waiting for partners, of all its ops together, divided
// by the number of ranks; ns. REQUIRES: a timeline of this plan.
std::map<std::string, double> mean_by_name(const Plan& plan, const Timeline& timeline);

// From one layer pass to another, by name of event in their order; 0 where a pass has none of a name.
struct NameChange {
  std::string name;
  double from_ns = 0, to_ns = 0, change_ns = 0;
};
// REQUIRES: each timeline is of its plan.
std::vector<NameChange> name_changes(const Plan& from, const Timeline& from_times, const Plan& to,
                                     const Timeline& to_times);

}  // namespace spscope
