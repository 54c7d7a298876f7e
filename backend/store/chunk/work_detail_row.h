// Rows of the table `work_detail` as details of work.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "backend/record/events.h"
#include "backend/record/work_detail.h"

namespace spscope {

inline constexpr std::string_view kWorkDetailColumns =
    "work_detail_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes, "
    "dynamic_shared_bytes, copy_kind, source_kind, target_kind, source_device, target_device, synchronization_kind, "
    "device, context, stream";
inline constexpr std::string_view kInsertWorkDetail =
    "INSERT INTO work_detail (work_detail_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, "
    "static_shared_bytes, dynamic_shared_bytes, copy_kind, source_kind, target_kind, source_device, target_device, "
    "synchronization_kind, device, context, stream) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

struct StoredWorkDetail {
  WorkDetailId id = 0;
  WorkDetail what;
};

// The columns kWorkDetailColumns, from the first on. `Row` has integer(column, min, max), which throws Error.
template <typename Row>
StoredWorkDetail work_detail_of(const Row& row) {
  int column = 0;
  const auto number = [&] {
    using Limits = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(row.integer(column++, Limits::min(), Limits::max()));
  };
  const auto kind = [&] { return static_cast<std::uint8_t>(row.integer(column++, 0, 255)); };
  StoredWorkDetail stored;
  WorkDetail& d = stored.what;
  stored.id = static_cast<WorkDetailId>(row.integer(column++, 1, std::numeric_limits<WorkDetailId>::max()));
  for (std::int32_t& size : d.grid) size = number();
  for (std::int32_t& size : d.block) size = number();
  for (std::int32_t* of_kernel : {&d.registers_per_thread, &d.static_shared_bytes, &d.dynamic_shared_bytes})
    *of_kernel = number();
  for (std::uint8_t* of_copy : {&d.copy_kind, &d.source_kind, &d.target_kind}) *of_copy = kind();
  d.source_device = number(), d.target_device = number();
  d.synchronization_kind = kind();
  for (std::int32_t* place : {&d.device, &d.context, &d.stream}) *place = number();
  return stored;
}

// Runs kInsertWorkDetail. `Insert` has run(values...).
template <typename Insert>
void insert_work_detail(Insert& insert, WorkDetailId id, const WorkDetail& d) {
  insert.run(id, d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1], d.block[2], d.registers_per_thread,
             d.static_shared_bytes, d.dynamic_shared_bytes, d.copy_kind, d.source_kind, d.target_kind, d.source_device,
             d.target_device, d.synchronization_kind, d.device, d.context, d.stream);
}

}  // namespace spscope
