// WorkDetail: what a device was asked to do, apart from when: the shape of a launch, the ends of a copy, what a thread
// waited for. The same detail belongs to many events, so a file holds it once and events refer to it (WorkEvent).
#pragma once

#include <array>
#include <cstdint>

namespace spscope {

// Only what belongs to the category of the event is set; the rest is 0. Kinds are numbers of CUPTI, which files store
// as they are: CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind, CUpti_ActivitySynchronizationType.
struct WorkDetail {
  // of a kernel
  std::array<std::int32_t, 3> grid = {}, block = {};  // blocks, and threads of a block: x, y, z
  std::int32_t registers_per_thread = 0;
  std::int32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  // of a copy
  std::uint8_t copy_kind = 0, source_kind = 0, target_kind = 0;
  std::int32_t source_device = -1, target_device = -1;  // ordinals; -1: does not apply
  // of a synchronisation
  std::uint8_t synchronization_kind = 0;
  // of work on a device, also of a memset; -1: does not apply
  std::int32_t device = -1, context = -1, stream = -1;
  friend auto operator<=>(const WorkDetail&, const WorkDetail&) = default;
};

}  // namespace spscope
