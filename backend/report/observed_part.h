// The part of a report about a program that was observed.
#pragma once

#include "backend/analysis/observation.h"
#include "backend/report/document.h"

namespace spscope {

// What collectors took, what they lost and why some did not collect: a table and notes, or no block.
Section collectors_section(const Observation& observation);

Part observed_part(const Observation& observation);

}  // namespace spscope
