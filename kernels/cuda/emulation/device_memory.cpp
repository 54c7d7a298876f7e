#include "kernels/cuda/emulation/device_memory.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "kernels/cuda/emulation/emulated.h"

namespace spscope::kernels::cuda {
namespace {

// Ranges of all devices of the process. Threads keep the range that they last found, for as long as `version` is the
// same: it counts the changes, and 0 says that there never was one.
struct Ranges {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, std::uintptr_t> end_of;  // by begin
  std::atomic<std::uint64_t> version = 0;
};

Ranges& ranges() {
  static Ranges all;
  return all;
}

struct Found {
  std::uint64_t version = 0;
  std::uintptr_t begin = 0, end = 0;
};

}  // namespace

bool is_device_memory(const void* address, std::size_t num_bytes) {
  Ranges& all = ranges();
  const std::uint64_t version = all.version.load(std::memory_order_acquire);
  if (version == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(address), end = begin + num_bytes;
  thread_local Found found;
  if (found.version == version && found.begin <= begin && end <= found.end) return true;
  const std::shared_lock lock(all.mutex);
  auto range = all.end_of.upper_bound(begin);
  if (range == all.end_of.begin()) return false;
  --range;
  if (end > range->second) return false;
  found = {all.version.load(std::memory_order_relaxed), range->first, range->second};
  return true;
}

void announce_device_memory(const void* begin, std::size_t num_bytes) {
  Ranges& all = ranges();
  const std::unique_lock lock(all.mutex);
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  all.end_of[first] = first + num_bytes;
  all.version.fetch_add(1, std::memory_order_release);
}

void retract_device_memory(const void* begin) {
  Ranges& all = ranges();
  const std::unique_lock lock(all.mutex);
  all.end_of.erase(reinterpret_cast<std::uintptr_t>(begin));
  all.version.fetch_add(1, std::memory_order_release);
}

}  // namespace spscope::kernels::cuda
