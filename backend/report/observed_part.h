// The part of a report about a program that was observed.
#pragma once

#include <string>

#include "backend/analysis/observation.h"
#include "backend/report/document.h"

namespace spscope {

// What collectors took, what they lost and why some did not collect: a table and notes, or no block.
Section collectors_section(const Observation& observation);

// Who waits for whom in collectives of NCCL and how much of the time, or why that is not known. One to three sentences.
std::string who_waits_text(const Observation& observation);

Part observed_part(const Observation& observation);

}  // namespace spscope
