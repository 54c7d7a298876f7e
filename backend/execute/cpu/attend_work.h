// AttendWork: one attend op of a plan, made ready for the attention kernel.
//
// The op's rows and keys are cut into stretches that lie inside one mask block and one buffer, next to each other in
// memory; these are the q blocks and k blocks that the kernel sees, read in place. (Online softmax does not care how
// keys are cut, so a block that two buffers share needs no gathering.) Active tiles are listed once per head, before
// any run, and serve all sequences, batch entries and repeats.
//
// Heads and sequences that find their rows and keys in the same buffers form a slab; usually there is one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/program/cells.h"
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

  // (head, q stretch, k stretch) triples that the kernel computes.
  std::int64_t num_tiles() const;

 private:
  // Rows of one block in one buffer of queries and one of the accumulator. Holders index Slab::holders.
  struct RowStretch {
    std::int32_t block, rows;
    std::int32_t q_holder, q_position, acc_holder, acc_position;
  };
  struct KeyStretch {
    std::int32_t block, rows, holder, position;
  };
  // Where a buffer holds the heads and sequences of a slab.
  struct Holder {
    BufferId buffer;
    std::vector<std::int32_t> column_position, sequence_position;
  };
  struct Slab {
    std::vector<std::int32_t> heads, sequences;
    std::vector<Holder> holders;
    std::vector<RowStretch> rows;
    std::vector<KeyStretch> keys;
    std::vector<std::int32_t> row_begin;             // [heads][rows + 1] offsets into the head's k_block
    std::vector<std::vector<std::int32_t>> k_block;  // by head
  };
  class Builder;

  void attend_sequence(const HostMemory& memory, const Slab& slab, std::size_t head, std::size_t sequence,
                       int batch_entry, ComputeScratch& scratch) const;

  AttendedAxis axis_;
  Dtype dtype_;
  int head_dim_, batch_;
  float scale_;
  std::vector<Slab> slabs_;
};

}  // namespace spscope
