// Cost: modelled durations of the compute ops of a plan, from a profile that `calibrate` measured or a preset assumes.
//
// schedule() takes durations by OpId, from here or measured.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/plan/plan.h"

namespace spscope {

// Nanoseconds by OpId, each rounded up; 0 for communication.
//   attend          affine in launches, query rows and area x head_dim (KernelCostProfile)
//   local           the larger of FLOPs x gemm and bytes read and written x move
//   copy, merge, finish  bytes read and written x move: a merge reads a part and updates the accumulator, a finish
//                   reads the accumulator and writes rows
std::vector<std::int64_t> op_durations(const Plan& plan, const KernelCostProfile& profile);
// The same for one op, in nanoseconds before rounding.
double op_cost_ns(const Plan& plan, const Op& op, const KernelCostProfile& profile);

// Query rows of an attend op: heads x queries x sequences x batch.
std::int64_t attend_num_rows(const Plan& plan, const Op& op);
// Active (head, query, key) triples of an attend op, sequences and batch included.
std::int64_t attend_area(const Plan& plan, const Op& op);
// Bytes that a compute op other than an attend reads and writes, including its part of a weight.
std::int64_t bytes_touched(const Plan& plan, const Op& op);

}  // namespace spscope
