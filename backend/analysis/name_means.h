// How long events of each name take in a layer pass, as means over ranks: what a comparison by event shows.
#pragma once

#include <map>
#include <string>

#include "backend/plan/timeline.h"

namespace spscope {

// By the name of an event: its time from begin to end, without waiting for partners, of all its ops together, divided
// by the number of ranks; ns. REQUIRES: a timeline of this plan.
std::map<std::string, double> mean_by_name(const Plan& plan, const Timeline& timeline);

}  // namespace spscope
