// The part of a report about a program that was observed.
#pragma once

#include <span>
#include <string>

#include "backend/analysis/observation.h"
#include "backend/report/document.h"

namespace spscope {

// What collectors took, what they lost and why some did not collect: a table and notes, or no block.
Section collectors_section(const Observation& observation);

// Who waits for whom in collectives of NCCL and how much of the time, or why that is not known. One to three sentences.
std::string who_waits_text(const Observation& observation);

// What explain says of the programs of a file, with the numbers behind it (schemas/observation.schema.json); with a
// line break at the end.
std::string render_json(const std::string& file, std::span<const Observation> observations);

Part observed_part(const Observation& observation);

}  // namespace spscope
