// The part of a report about a program that was observed.
#pragma once

#include "backend/analysis/observation.h"
#include "backend/report/document.h"

namespace spscope {

Part observed_part(const Observation& observation);

}  // namespace spscope
