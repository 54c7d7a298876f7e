// The device of the arena executor: memory and compute.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/execute/cpu/compute_work.h"
#include "backend/execute/lanes/device.h"
#include "backend/execute/program/program.h"

namespace spscope::testing {

class ArenaDevice final : public Device {
 public:
  ArenaDevice(const Program& program, const Request& request, std::shared_ptr<LayerParameters> parameters);

  // Makes the arenas. Once, before the first repeat.
  void allocate();
  // Elements of one cell, plane and batch entry, as bytes in the buffer's dtype.
  void read_cell(BufferId buffer, std::size_t plane, int entry, std::int64_t cell, std::byte* out) const;
  void write_cell(BufferId buffer, std::size_t plane, int entry, std::int64_t cell, const std::byte* in);
  // What kernels that run on the device see of it.
  const HostMemory& seen_by_kernels() const { return view_; }

  void start(std::span<const std::int32_t> users) override;
  void fill(SlotId slot, const Activations& activations) override;
  std::vector<float> read_outputs(int rank) const override;
  std::vector<std::int64_t> peak_bytes() const override;
  std::vector<std::int64_t> staging_peak_bytes() const override;
  void set_beat(int rank, std::function<void()> beat) override;
  void open(SlotId slot) override { make(slot); }
  void release(SlotId slot) override;
  void compute(int rank, OpId op) override;

 private:
  static constexpr std::int64_t kClosed = -1;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Arena {
    std::mutex mutex;
    std::vector<Line> memory;
    std::byte* first = nullptr;                   // of the memory
    std::map<std::int64_t, std::int64_t> blocks;  // offset of each block in use, guards included -> its end
    std::int64_t live_bytes = 0, peak_bytes = 0;  // of elements
  };
  class View final : public HostMemory {
   public:
    explicit View(const MemoryLayout& layout) : HostMemory(layout) {}
    void set(BufferId buffer, std::byte* address) { address_of_buffer(buffer) = address; }
  };
  std::int64_t offset_of(BufferId buffer, std::size_t plane, int entry, std::int64_t cell) const;
  bool make(SlotId slot);
  void free(Arena& arena, SlotId slot);

  const Program& program_;
  const std::shared_ptr<LayerParameters> parameters_;
  std::vector<std::unique_ptr<ComputeWork>> works_;  // by op
  std::vector<ComputeScratch> scratch_;              // by rank
  std::vector<Arena> arenas_;                        // by rank
  std::vector<std::int64_t> offsets_;                // by slot: of its first byte after the guard; or kClosed
  std::vector<std::int64_t> buffer_offsets_;         // by buffer: in its slot
  std::vector<std::int32_t> users_;                  // by slot
  std::vector<SlotId> slot_of_buffer_;
  View view_;
};

}  // namespace spscope::testing
