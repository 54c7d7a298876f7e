#include "kernels/cuda/emulation/block.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/cuda/emulation/device_memory.h"

namespace spscope::kernels::cuda {
namespace {

// Untouched pages of stacks take no memory.
constexpr std::size_t kStackBytes = 64 << 10;

}  // namespace

EmulatedBlock& EmulatedBlock::current() {
  thread_local EmulatedBlock block;
  return block;
}

EmulatedBlock::EmulatedBlock() : shared_(clocks_) {
  void* const stacks = mmap(nullptr, kStackBytes * kMaxThreadsOfBlock, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) throw EmulationFault("no address space for the stacks of an emulated block (64 MiB)");
  stacks_ = static_cast<std::byte*>(stacks);
}

EmulatedBlock::~EmulatedBlock() { munmap(stacks_, kStackBytes * kMaxThreadsOfBlock); }

void EmulatedBlock::prepare(int threads, std::size_t shared_bytes) {
  clocks_.reset(threads);
  shared_.reset(shared_bytes);
  threads_.resize(static_cast<std::size_t>(threads));
  warps_.assign(static_cast<std::size_t>(threads + 31) / 32, {});
  accesses_.assign(static_cast<std::size_t>(threads), {});
  ready_.resize(static_cast<std::size_t>(threads));
  std::iota(ready_.begin(), ready_.end(), 0);
  next_ready_ = 0;
  num_ready_ = ready_.size();
  alive_ = threads;
  at_barrier_ = 0;
  fault_.clear();
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    Fiber fiber = std::move(threads_[t].fiber);
    threads_[t] = {};
    fiber.start(stacks_ + t * kStackBytes, kStackBytes, &EmulatedBlock::run_thread);
    threads_[t].fiber = std::move(fiber);
  }
}

void EmulatedBlock::run(const EmulatedKernel& kernel, int block, int threads, std::size_t shared_bytes,
                        void** arguments) {
  kernel_ = &kernel;
  arguments_ = arguments;
  block_ = block;
  prepare(threads, shared_bytes);
  running_ = next_thread();
  switch_fiber(host_, running().fiber);
  if (!fault_.empty()) throw EmulationFault(fmt::format("kernel {}, block {}: {}", kernel.name, block, fault_));
}

void EmulatedBlock::run_thread() {
  EmulatedBlock& block = current();
  block.kernel_->run(block.arguments_);
  block.end_thread();
}

// -- who runs

void EmulatedBlock::wake(int thread) {
  threads_[static_cast<std::size_t>(thread)].waits = Waits::kNot;
  ready_[(next_ready_ + num_ready_++) % ready_.size()] = thread;
}

int EmulatedBlock::next_thread() {
  const int thread = ready_[next_ready_];
  next_ready_ = (next_ready_ + 1) % ready_.size();
  --num_ready_;
  return thread;
}

void EmulatedBlock::wait(Waits waits) {
  running().waits = waits;
  run_next();
}

void EmulatedBlock::run_next() {
  Thread& from = running();
  if (num_ready_ == 0) {
    if (alive_ > 0) fault("deadlock: " + waiting_threads());
    switch_fiber(from.fiber, host_);
  }
  running_ = next_thread();
  if (&from != &running()) switch_fiber(from.fiber, running().fiber);
}

void EmulatedBlock::end_thread() {
  running().waits = Waits::kEnded;
  --alive_;
  const auto first = threads_.begin() + running_ / 32 * 32;
  if (std::all_of(first, first + std::min<std::ptrdiff_t>(32, threads_.end() - first),
                  [](const Thread& thread) { return thread.waits == Waits::kEnded; }))
    count_conflicts(running_ / 32);
  if (alive_ > 0 && at_barrier_ == alive_) meet_block();
  run_next();
}

// The block stops here; fibers are left as they are, and hold nothing that would have to be released.
void EmulatedBlock::fault(std::string what) {
  fault_ = std::move(what);
  switch_fiber(running().fiber, host_);
}

void EmulatedBlock::fault_of_thread(const std::string& what) {
  if (!what.empty()) fault(fmt::format("thread {}: {}", running_, what));
}

std::string EmulatedBlock::waiting_threads() const {
  std::string text;
  for (std::size_t first = 0; first < threads_.size();) {
    std::size_t end = first;
    while (end < threads_.size() && threads_[end].waits == threads_[first].waits &&
           (threads_[first].waits != Waits::kForWarp || end / 32 == first / 32))
      ++end;
    const char* const operation = warps_[first / 32].operation;
    const std::string_view what = threads_[first].waits == Waits::kForBlock ? "wait in sync_block"
                                  : threads_[first].waits == Waits::kEnded  ? "have ended"
                                                                            : operation;
    text += fmt::format("{}threads {} to {} {}{}", text.empty() ? "" : ", ", first, end - 1,
                        threads_[first].waits == Waits::kForWarp ? "wait for their warp in " : "", what);
    first = end;
  }
  return text;
}

// -- barriers of block and warp

void EmulatedBlock::sync_block() {
  if (running().syncs++ == defect.skip_sync_block) return;
  ++at_barrier_;
  if (at_barrier_ < alive_) return wait(Waits::kForBlock);
  running().waits = Waits::kForBlock;
  meet_block();
  // The caller is among those that were woken; it goes on first.
  running().waits = Waits::kNot;
}

void EmulatedBlock::meet_block() {
  std::vector<int> met;
  for (std::size_t t = 0; t < threads_.size(); ++t)
    if (threads_[t].waits == Waits::kForBlock) met.push_back(static_cast<int>(t));
  clocks_.meet(met);
  at_barrier_ = 0;
  for (std::size_t w = 0; w < warps_.size(); ++w) count_conflicts(static_cast<int>(w));
  for (const int t : met)
    if (t != running_) wake(t);
}

void EmulatedBlock::sync_warp() {
  int unused = 0;
  together("sync_warp", &unused, [&](int**) {
    int lanes[32];
    std::iota(lanes, lanes + 32, running_ / 32 * 32);
    clocks_.meet(lanes);
  });
}

bool EmulatedBlock::arrive(Warp& warp, const char* operation, void* operand) {
  if (warp.arrived == 0) warp.operation = operation;
  if (std::strcmp(warp.operation, operation) != 0)
    fault_of_thread(fmt::format("does {} while other lanes of its warp do {}", operation, warp.operation));
  warp.operands[running_ % 32] = operand;
  if (++warp.arrived == 32) return true;
  wait(Waits::kForWarp);
  return false;
}

void EmulatedBlock::leave(Warp& warp) {
  warp.arrived = 0;
  count_conflicts(running_ / 32);
  const int first = running_ / 32 * 32;
  for (int t = first; t < first + 32; ++t)
    if (t != running_) wake(t);
}

// -- memory

void EmulatedBlock::note_access(std::uint32_t at, std::size_t num_bytes) {
  accesses_[static_cast<std::size_t>(running_)].push_back({at, static_cast<std::uint32_t>(num_bytes)});
}

void EmulatedBlock::count_conflicts(int warp) {
  const std::size_t first = static_cast<std::size_t>(warp) * 32;
  bank_conflicts +=
      take_conflicts(std::span(accesses_).subspan(first, std::min<std::size_t>(32, accesses_.size() - first)));
}

void EmulatedBlock::read_shared(std::uint32_t from, std::size_t num_bytes, void* out) {
  fault_of_thread(shared_.read(running_, from, num_bytes, out));
  note_access(from, num_bytes);
}

void EmulatedBlock::write_shared(std::uint32_t to, std::size_t num_bytes, const void* data) {
  fault_of_thread(shared_.write(running_, to, num_bytes, data));
  note_access(to, num_bytes);
}

void EmulatedBlock::read_matrices(const std::uint32_t (&rows)[32], std::uint16_t (&matrices)[4][8][8]) {
  const int first = running_ / 32 * 32;
  for (int matrix = 0; matrix < 4; ++matrix) {
    SharedAccess together[8];
    for (int row = 0; row < 8; ++row) {
      const int lane = matrix * 8 + row;
      together[row] = {rows[lane], 16};
      const std::string wrong = shared_.read(first + lane, rows[lane], 16, matrices[matrix][row]);
      if (!wrong.empty()) fault(fmt::format("thread {}: {}", first + lane, wrong));
    }
    bank_conflicts += extra_passes(together);
  }
}

void EmulatedBlock::check_global(const void* address, std::size_t num_bytes, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
    fault_of_thread(
        fmt::format("{} bytes of device memory at {}, which is not a multiple of {}", num_bytes, address, alignment));
  if (!is_device_memory(address, num_bytes))
    fault_of_thread(fmt::format("{} bytes at {} are no device memory", num_bytes, address));
}

void EmulatedBlock::copy_async(std::uint32_t to, const void* from, int num_bytes) {
  if (num_bytes != 0) check_global(from, static_cast<std::size_t>(num_bytes), 16);
  fault_of_thread(shared_.begin_copy(running_, to, 16));
  note_access(to, 16);
  running().copies.push_back({to, from, num_bytes, running().group});
}

void EmulatedBlock::copy_async_commit() { ++running().group; }

void EmulatedBlock::copy_async_wait(int pending) {
  if (running().copy_waits++ == defect.skip_copy_wait) return;
  std::vector<PendingCopy>& copies = running().copies;
  const auto ends = [&](const PendingCopy& copy) { return copy.group < running().group - pending; };
  const auto left = std::find_if_not(copies.begin(), copies.end(), ends);
  for (auto copy = copies.begin(); copy != left; ++copy) {
    std::byte data[16] = {};
    std::memcpy(data, copy->from, static_cast<std::size_t>(copy->num_bytes));
    shared_.end_copy(running_, copy->to, 16, data);
  }
  copies.erase(copies.begin(), left);
}

}  // namespace spscope::kernels::cuda
