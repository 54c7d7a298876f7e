// The time of one operation divided into terms: what its compute consists of, and the phases of a transfer.
#pragma once

#include <cstdint>

#include "backend/analysis/time_terms.h"

namespace spscope {

// Adds `ns` of the compute of an op to the terms of time_terms.h. With a cost profile what exceeds its cost is
// `slowdown`, and an attention is launch, rows, merge and tiles; measured compute is one term by the kind of the op.
void add_compute_terms(const Plan& plan, const Op& op, std::int64_t ns, const TimeModels& models, TimeTerms& terms);

// A transfer from its begin to its end: packing up to packed_ns, latency up to flowing_ns, data up to unpacking_ns,
// unpacking. REQUIRES: times of this op. begin_ns <= packed_ns <= flowing_ns <= unpacking_ns <= end_ns, where a
// barrier, which moves nothing, is latency to its end.
struct TransferPhases {
  std::int64_t packed_ns = 0, flowing_ns = 0, unpacking_ns = 0;
  TimeTerm wire = TimeTerm::kWireInside;  // between nodes when any message of the op crosses nodes
};
TransferPhases transfer_phases(const Plan& plan, const Op& op, const OpTimes& times, const TimeModels& models);

}  // namespace spscope
