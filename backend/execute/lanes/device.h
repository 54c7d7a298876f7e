// Device: what the lanes of one process need from the hardware under them: memory for the slots of a program, and the
// compute ops. Each device has its own; lanes and control know neither addresses nor kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/program/memory_layout.h"

namespace spscope {

class Device {
 public:
  virtual ~Device() = default;

  // -- between repeats, while no lane runs
  // Closes every slot of the local ranks and sets how many users each will have (Program::users).
  virtual void start(std::span<const std::int32_t> users) = 0;
  // Opens the slot of an input and fills it from the activations.
  virtual void fill(SlotId slot, const Activations& activations) = 0;
  // What a rank holds of the outputs, its shares (OutputGather) one after the other, each [batch][cells][width].
  virtual std::vector<float> read_outputs(int rank) const = 0;
  // By rank, of the last repeat: highest number of bytes of values and accumulators at one time.
  virtual std::vector<std::int64_t> peak_bytes() const = 0;
  // By rank, of all repeats: highest number of bytes of workspaces of kernels.
  virtual std::vector<std::int64_t> staging_peak_bytes() const = 0;
  // The rank's compute calls `beat` between kernel calls from now on; it may throw to leave the op.
  virtual void set_beat(int rank, std::function<void()> beat) = 0;

  // -- by lanes, thread-safe
  // Gives a slot its memory unless it has it. Nothing for a slot that this process cannot reach.
  virtual void open(SlotId slot) = 0;
  // One user of the slot has ended; after the last one its memory is free. Nothing for a slot out of reach.
  virtual void release(SlotId slot) = 0;
  // Runs a compute op of the rank's lane 0, opens the slots that it writes, and returns when it has ended.
  virtual void compute(int rank, OpId op) = 0;
};

}  // namespace spscope
