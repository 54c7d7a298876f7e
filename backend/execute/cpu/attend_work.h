// AttendWork: one attend op of a plan, made ready for the attention kernel of the CPU, which reads the stretches of
// AttendTiles in place.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/program/attend_tiles.h"
#include "backend/plan/request.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"

namespace spscope {

// What a compute thread reuses from op to op, and whom it tells that it is alive.
struct ComputeScratch {
  kernels::AttentionWorkspace attention;
  std::vector<kernels::RowBlock> q, k, v;
  std::vector<kernels::RowState> state;
  std::vector<std::vector<float>> staging;  // operands and results of local kernels
  std::vector<Bf16> rounded;                // rows for a matrix product in bf16
  std::vector<double> statistics;           // of norms
  std::vector<float> row_state;             // running max and sum of an attention to text
  kernels::GemmWorkspace gemm;
  // Called between kernel calls; may throw to leave the op. Empty: nobody listens.
  std::function<void()> beat;

  std::int64_t staging_bytes() const;
};

class AttendWork {
 public:
  // REQUIRES: an attend op. Throws Error(kPlanNotHeld) when its rank does not hold its rows or keys.
  AttendWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op);

  // Folds all tiles into the accumulator, whose buffers are open.
  void run(const HostMemory& memory, ComputeScratch& scratch) const;

 private:
  void attend_sequence(const HostMemory& memory, const AttendTiles::Slab& slab, std::size_t head, std::size_t sequence,
                       int batch_entry, ComputeScratch& scratch) const;

  AttendTiles tiles_;
  Dtype dtype_;
  int head_dim_, batch_;
  float scale_;
};

}  // namespace spscope
