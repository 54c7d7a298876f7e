// One emulated block: its threads as fibers, what they wait for, and their shared memory. Blocks of a launch run one
// after the other, in the same object; each host thread that launches has one of its own.
//
// A fiber runs until it has to wait for others. What the lanes of a warp do together (shuffles, matrices) is done by
// the lane that comes last, for all lanes, from operands that lie on their stacks; then all go on. So a warp in
// lockstep costs one switch a lane and operation. When nobody can run and somebody waits, the block is deadlocked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/emulation/bank_conflicts.h"
#include "kernels/cuda/emulation/checked_shared.h"
#include "kernels/cuda/emulation/emulated.h"
#include "kernels/cuda/emulation/fiber.h"
#include "kernels/cuda/emulation/kernel.h"
#include "kernels/cuda/emulation/vector_clocks.h"

namespace spscope::kernels::cuda {

// A defect planted into a kernel: the n-th call of each thread does nothing. Tests show that each one is noticed.
struct PlantedDefect {
  int skip_sync_block = -1;
  int skip_copy_wait = -1;
};

class EmulatedBlock {
 public:
  // That of the calling host thread.
  static EmulatedBlock& current();

  EmulatedBlock();
  ~EmulatedBlock();
  EmulatedBlock(const EmulatedBlock&) = delete;

  // Throws EmulationFault.
  void run(const EmulatedKernel& kernel, int block, int threads, std::size_t shared_bytes, void** arguments);

  PlantedDefect defect;
  long bank_conflicts = 0;

  // -- for the running thread; device_emulated.h says what each means

  int thread() const { return running_; }
  int block() const { return block_; }
  void sync_block();
  void sync_warp();
  void read_shared(std::uint32_t from, std::size_t num_bytes, void* out);
  void write_shared(std::uint32_t to, std::size_t num_bytes, const void* data);
  void check_global(const void* address, std::size_t num_bytes, std::size_t alignment);
  void copy_async(std::uint32_t to, const void* from, int num_bytes);
  void copy_async_commit();
  void copy_async_wait(int pending);

  // `act(operands)` once for the warp, with the operand of each lane; `operation` names what all lanes have to do.
  template <typename Operand, typename Act>
  void together(const char* operation, Operand* operand, Act act) {
    Warp& warp = warp_of(running_);
    if (!arrive(warp, operation, operand)) return;
    Operand* operands[32];
    for (int lane = 0; lane < 32; ++lane) operands[lane] = static_cast<Operand*>(warp.operands[lane]);
    act(operands);
    leave(warp);
  }

  // Reads the 8 rows of each of the four matrices whose addresses the lanes gave, for those lanes.
  void read_matrices(const std::uint32_t (&rows)[32], std::uint16_t (&matrices)[4][8][8]);

 private:
  enum class Waits { kNot, kForBlock, kForWarp, kEnded };
  struct PendingCopy {
    std::uint32_t to;
    const void* from;
    int num_bytes, group;
  };
  struct Thread {
    Fiber fiber;
    Waits waits = Waits::kNot;
    int syncs = 0, copy_waits = 0;  // calls so far
    int group = 0;                  // groups of copies committed so far
    std::vector<PendingCopy> copies;
  };
  struct Warp {
    int arrived = 0;
    const char* operation = nullptr;
    void* operands[32];
  };

  static void run_thread();
  void prepare(int threads, std::size_t shared_bytes);
  Warp& warp_of(int thread) { return warps_[static_cast<std::size_t>(thread / 32)]; }
  Thread& running() { return threads_[static_cast<std::size_t>(running_)]; }
  bool arrive(Warp& warp, const char* operation, void* operand);
  void leave(Warp& warp);
  void meet_block();
  void wait(Waits waits);
  void wake(int thread);
  int next_thread();
  void end_thread();
  void run_next();
  void note_access(std::uint32_t at, std::size_t num_bytes);
  void count_conflicts(int warp);
  std::string waiting_threads() const;
  void fault(std::string what);
  void fault_of_thread(const std::string& what);

  const EmulatedKernel* kernel_ = nullptr;
  void** arguments_ = nullptr;
  int block_ = 0, running_ = 0, alive_ = 0, at_barrier_ = 0;
  VectorClocks clocks_;
  CheckedShared shared_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<int> ready_;  // a ring: num_ready_ threads from ready_[next_ready_] on
  std::size_t next_ready_ = 0, num_ready_ = 0;
  std::vector<std::vector<SharedAccess>> accesses_;  // by thread
  Fiber host_;
  std::byte* stacks_ = nullptr;
  std::string fault_;
};

}  // namespace spscope::kernels::cuda
