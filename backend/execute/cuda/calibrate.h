// calibrate(): what a rank on the first GPU costs, for the cluster profile that `simulate` and `advise` read.
//
// Compute. The plans of the calibration of the CPU (execute/calibrate) with the kernels that runs use: each op between
// two events of its stream, all enqueued before the first begins (gate.h), so that times are the device's alone. A
// point is the median of runs that take turns after one that warms up. Attention is fitted, as on the CPU, to launches,
// query rows and active pairs x head dim (over head dims 64 and 128, blocks of 64 and 128, 1 to all of them a row);
// copies, merges and finishes to bytes read and written. pack_ns_per_byte is the time of the copies among them over the
// bytes copied, each read and written once. Matrix products have no kernel here yet: gemm_ns_per_flop is modelled as
// attention's rate.
//
// Communication. link_gbps and intra_latency_ns: two ranks, on two GPUs where there are two that reach each other (else
// on one, whose numbers are assumed), copy from each other at once as `peer` does, from when both could post until each
// has what it waits for; fitted over sizes. compute_slowdown is for communication by kernels, which takes n SMs (NCCL):
// the time of an attention beside n held SMs (held_processors.h) over its time alone, medians, at least 1. Copy engines
// take no SM and send from where data lies: with n = 0 the slow-down is 1, and messages are not packed.
//
// Host. host_ns_per_launch: how long it takes to enqueue a kernel with its events and its word; host_ns_per_hop, and
// host_ns_per_collective: the same of one rank's part of an exchange. From the same launches comes the gap: what the
// device takes for all of them, enqueued before the first begins, less what they take alone. It is added to
// attend_ns_per_launch.
//
// Not measured: links between hosts, links between processes, energy, and clocks under other loads.
#pragma once

#include "backend/execute/calibrate/calibrate.h"

namespace spscope::cuda {

// Throws Error: what fails, and in which part; kInterrupted.
Calibration calibrate(const CalibrateOptions& options);

}  // namespace spscope::cuda
