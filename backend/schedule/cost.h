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
//   attend          affine in launches, query rows and area x head_dim, more for tiles smaller than the mask's blocks
//                   (KernelCostProfile); of rows that have attended before, as in later ring steps, also merging:
//                   rows x (result + 2 x accumulator) bytes x ring_merge_passes x move
//   cross_attention the larger of attention at that rate with matrix products of the text, and bytes x move
//   local           the larger of FLOPs x gemm and bytes read and written x passes x move; passes is
//   elementwise_passes,
//                   of norms with a rotary embedding rotary_passes, of matrix products and attention to text 1
//   merge           bytes read and written x merge_passes x move: a merge reads a part and updates the accumulator
//   copy, finish    bytes read and written x move: a finish reads the accumulator and writes rows
std::vector<std::int64_t> op_durations(const Plan& plan, const KernelCostProfile& profile);
// The same for one op, in nanoseconds before rounding.
double op_cost_ns(const Plan& plan, const Op& op, const KernelCostProfile& profile);

// What the host of each rank does: it issues ops one after the other and does not wait for the device, so of a layer
// the slower of device and host shows.
struct HostTimes {
  std::vector<std::int64_t> issue_ns;  // by OpId, from the start of the plan; empty: the host takes no time
  std::vector<std::int64_t> end_ns;    // by rank: when it has issued all
};
// An op of compute is one launch; where code is not fused, a local kernel is passes x tensors of them, a merge 3 x
// passes (a part, and the accumulator in and out).
HostTimes host_times(const Plan& plan, const KernelCostProfile& profile);

// The cost of an attend op in whole nanoseconds, by what causes it; the sum is its entry of op_durations.
struct AttendParts {
  std::int64_t launch_ns = 0;  // of the launch, rounded
  std::int64_t rows_ns = 0;    // of its query rows, rounded
  std::int64_t merge_ns = 0;   // of rows that have attended before: folding the result into the accumulator, rounded
  std::int64_t tiles_ns = 0;   // the rest: of its active pairs
};
AttendParts attend_parts(const Plan& plan, const Op& op, const KernelCostProfile& profile);

// Query rows of an attend op: heads x queries x sequences x batch.
std::int64_t attend_num_rows(const Plan& plan, const Op& op);
// Active (head, query, key) triples of an attend op, sequences and batch included.
std::int64_t attend_area(const Plan& plan, const Op& op);
// Bytes that a compute op other than an attend reads and writes, including its part of a weight.
std::int64_t bytes_touched(const Plan& plan, const Op& op);

}  // namespace spscope
