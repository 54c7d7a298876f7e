// ComputeWork: a lane-0 op of a plan (local, attend, merge, finish, copy), made ready to run on the memory of its rank.
// The executor and `measure` run the same work, so that what is measured alone is what runs among others.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/execute/cpu/attend_work.h"
#include "backend/execute/cpu/gemm_work.h"
#include "backend/execute/cpu/local_work.h"
#include "backend/execute/program/cell_pairs.h"

namespace spscope {

struct ComputeWork {
  PostKind kind = PostKind::kLocal;
  AttendedAxis walk = AttendedAxis::kInner;  // how `pairs` were enumerated
  SlotId accumulator = kNone;                // of an attend, merge or finish
  SlotId result = kNone;                     // the slot that a local, finish or copy fills
  bool unfinished = false;                   // a finish that gives away o, m and l
  int head_dim = 0;
  std::unique_ptr<AttendWork> attend;
  std::vector<CellPair> pairs;       // of a merge, finish or copy
  std::unique_ptr<GemmWork> gemm;    // of a local kernel that is a matrix product
  std::unique_ptr<LocalWork> local;  // of any other local kernel; without either, the result is a share of zeros
};

// `parameters`, of whole layers, must live as long as the work; nullptr when no kernel of the plan has any.
// REQUIRES: an op that computes, of a plan that cannot_run() lets pass.
// Throws Error(kPlanNotHeld) when the rank lacks what the op reads.
ComputeWork prepare_compute(const Plan& plan, const Request& request, LayerParameters* parameters, CellFinder& finder,
                            const Op& op);

// Runs it. What it reads is open and complete. `open` gives a slot that it writes its memory and says whether the slot
// had none before: an accumulator then starts from rows that have met no key.
void run_compute(const ComputeWork& work, const HostMemory& memory, const std::function<bool(SlotId)>& open,
                 ComputeScratch& scratch);

}  // namespace spscope
