// Moving cells between buffers and between buffers and arrays of floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/program/output_gather.h"

namespace spscope {

// Copies the cells of `from` to the cells of `to`, all planes and batch entries, and returns the bytes moved. Both were
// enumerated for the same box and walked axis. REQUIRES: buffers with the same planes and dtype.
std::int64_t copy_cells(const HostMemory& memory, std::span<const CellRun> from, std::span<const CellRun> to,
                        AttendedAxis walk = AttendedAxis::kInner);

// The elements of one plane and batch entry of these cells (walked along the inner axis) as floats, in order.
void load_cells(const HostMemory& memory, std::span<const CellRun> cells, std::size_t plane, int batch_entry,
                std::span<float> out);
// The other way round, rounding to the buffer's dtype.
void save_cells(const HostMemory& memory, std::span<const CellRun> cells, std::size_t plane, int batch_entry,
                std::span<const float> in);

// The cells of a message as bytes, [plane][batch][cells][width] in the buffers' dtype, and back into cells that were
// enumerated for the same box. REQUIRES: as for copy_cells; as many bytes as packed_bytes says.
std::int64_t packed_bytes(const HostMemory& memory, std::span<const CellRun> cells);
void pack_cells(const HostMemory& memory, std::span<const CellRun> cells, std::span<std::byte> out);
void unpack_cells(const HostMemory& memory, std::span<const CellRun> cells, std::span<const std::byte> in);
// load_cells of a packed message of `num_cells` cells of such a buffer.
void load_packed(const BufferLayout& layout, std::int64_t num_cells, std::span<const std::byte> packed,
                 std::size_t plane, int batch_entry, std::span<float> out);

// What a rank holds of the outputs, its shares one after the other, each [batch][cells][width].
// REQUIRES: the run has ended; outputs are still there, and the rank's memory is here.
std::vector<float> read_outputs(const HostMemory& memory, const OutputGather& outputs, int rank);

// Makes every number of a slot 0.
void clear_slot(const HostMemory& memory, SlotId slot);

// Fills the buffers of a slot with what the layer's input says: q, k, v and x from `activations`, anything else with
// numbers that every kernel can take (rows that have met one key of score 0 and value 0, zeros elsewhere).
void fill_slot(const HostMemory& memory, const Plan& plan, const Activations& activations, SlotId slot);

}  // namespace spscope
