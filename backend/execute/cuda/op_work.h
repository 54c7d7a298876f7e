// OpWork: a compute op of a rank, made ready for the kernels of the GPU: at most a fill with zeros and two launches.
//
// It is made in two steps. OpPlan lists tiles and cells, which takes long and needs no device. Once the arenas are
// there, make_work() turns it into pieces with addresses; those of all ops of a rank lie in one table in device memory,
// so that a repeat only launches.
#pragma once

#include <cuda.h>

#include <memory>
#include <variant>
#include <vector>

#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/device_slots.h"
#include "backend/execute/program/attend_tiles.h"
#include "backend/execute/program/cell_pairs.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/select.h"

namespace spscope::cuda {

// What an op computes.
struct OpPlan {
  OpId op = kNone;
  std::unique_ptr<AttendTiles> tiles;        // of an attend
  const Epilogue* epilogue = nullptr;        // of an attend that finishes its rows
  bool is_empty = false;                     // of a finish: its attend has finished the rows
  SlotId clears = kNone;                     // an accumulator that starts with rows that have met no key
  SlotId zeros = kNone;                      // a share of a sum that is all zeros
  bool fresh = false;                        // of an attend: it is the first of all its rows
  std::vector<CellPair> pairs;               // of a merge, finish or copy
  AttendedAxis walk = AttendedAxis::kInner;  // of the pairs
};

// The op that opens an accumulator clears it, or attends it afresh. `slots` outlives the plan.
// REQUIRES: an op that computes, of a plan that cannot_run() lets pass.
// Throws Error(kPlanNotHeld).
OpPlan plan_op(const Plan& plan, const Request& request, CellFinder& finder, const DeviceSlots& slots, OpId op);

using LaunchArgument = std::variant<kernels::cuda::Attend, kernels::cuda::Merge, kernels::cuda::Finish,
                                    kernels::cuda::Clear, kernels::cuda::Copy, kernels::cuda::Hold>;

// One kernel of an op. Until LaunchTable::move_to(), addresses in the argument are offsets in the table.
struct Launch {
  kernels::cuda::KernelChoice kernel;
  unsigned num_blocks = 0;
  LaunchArgument argument;
};

struct OpWork {
  CUdeviceptr zeros = 0;
  std::int64_t num_zeros = 0;  // bytes
  std::vector<Launch> launches;
  bool is_empty() const { return num_zeros == 0 && launches.empty(); }
};

// Arrays that launches refer to, to be copied to the device.
class LaunchTable {
 public:
  // Returns the offset as the address that it becomes.
  template <typename T>
  const T* add(const std::vector<T>& array) {
    const std::size_t offset = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    const auto* const first = reinterpret_cast<const std::byte*>(array.data());
    bytes_.resize(offset);
    bytes_.insert(bytes_.end(), first, first + array.size() * sizeof(T));
    return reinterpret_cast<const T*>(offset);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  // The table is at this address now.
  static void move_to(CUdeviceptr address, Launch& launch);

 private:
  static constexpr std::size_t kAlignment = 64;
  std::vector<std::byte> bytes_;
};

// `gpu`: the rank's device. REQUIRES: the arena of the rank is set.
OpWork make_work(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, const GpuFacts& gpu, LaunchTable& table);

}  // namespace spscope::cuda
