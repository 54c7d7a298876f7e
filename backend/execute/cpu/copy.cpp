#include "backend/execute/cpu/copy.h"

#include <algorithm>
#include <cstring>

namespace spscope {
namespace {

void from_floats(Dtype dtype, const float* in, std::int64_t count, std::byte* out) {
  if (dtype == Dtype::kFp32) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  auto* rounded = reinterpret_cast<Bf16*>(out);
  for (std::int64_t i = 0; i < count; ++i) rounded[i] = to_bf16(in[i]);
}

void to_floats(Dtype dtype, const std::byte* in, std::int64_t count, float* out) {
  if (dtype == Dtype::kFp32) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  const auto* stored = reinterpret_cast<const Bf16*>(in);
  for (std::int64_t i = 0; i < count; ++i) out[i] = to_float(stored[i]);
}

// visit(address, bytes) for every run of each plane and batch entry: the order of a packed message.
template <typename Visit>
void for_each_piece(const HostMemory& memory, std::span<const CellRun> cells, Visit&& visit) {
  if (cells.empty()) return;
  const BufferLayout& like = memory.layout().buffer(cells.front().buffer);
  for (std::size_t plane = 0; plane < like.planes.size(); ++plane)
    for (int entry = 0; entry < like.batch; ++entry)
      for (const CellRun& run : cells) {
        const std::int64_t elements = run.num_cells * like.planes[plane].width;
        visit(memory.address(run.buffer, plane, entry, run.cell),
              static_cast<std::size_t>(elements * dtype_bytes(like.dtype)));
      }
}

// A whole input, [batch][columns][outer][inner][width]; nullptr data: the layer has no such input.
struct InputSource {
  const float* data = nullptr;
  std::int64_t columns = 0, width = 1;
};

InputSource source_of(Tensor tensor, const Activations& activations, int layer) {
  if (tensor == Tensor::kX && !activations.x.empty()) {
    const std::int64_t pass = layer / activations.attentions_of_pass;
    return {activations.x.data() + pass * activations.num_channels(), activations.hidden, 1};
  }
  if (static_cast<std::size_t>(layer) >= activations.attentions.size()) return {};
  const AttentionInput& input = activations.attentions[static_cast<std::size_t>(layer)];
  const std::int64_t heads = activations.heads, dim = activations.head_dim;
  if (tensor == Tensor::kQ) return {input.q.data(), heads, dim};
  if (tensor == Tensor::kK) return {input.k.data(), heads, dim};
  if (tensor == Tensor::kV) return {input.v.data(), heads, dim};
  return {};
}

void fill_from_source(const HostMemory& memory, const SetTable& sets, const Activations& activations,
                      const InputSource& source, BufferId id, std::size_t plane) {
  const BufferLayout& layout = memory.layout().buffer(id);
  for (int entry = 0; entry < layout.batch; ++entry) {
    std::int64_t cell = 0;
    for (const Span& columns : sets.spans(layout.box.columns))
      for (int column = columns.begin; column < columns.end; ++column)
        for (const Span& rows : sets.spans(layout.box.outer))
          for (std::int32_t outer = rows.begin; outer < rows.end; ++outer)
            for (const Span& run : sets.spans(layout.box.inner)) {
              const std::int64_t token =
                  ((entry * source.columns + column) * activations.outer_tokens + outer) * activations.inner_tokens +
                  run.begin;
              from_floats(layout.dtype, source.data + token * source.width, std::int64_t{run.size()} * source.width,
                          memory.address(id, plane, entry, cell));
              cell += run.size();
            }
  }
}

}  // namespace

std::int64_t copy_cells(const HostMemory& memory, std::span<const CellRun> from, std::span<const CellRun> to,
                        AttendedAxis walk) {
  const MemoryLayout& layout = memory.layout();
  const auto stride = [&](BufferId id) { return layout.buffer(id).stride(walk); };
  std::int64_t num_bytes = 0;
  zip_runs(from, to, stride, stride,
           [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
             const BufferLayout& source = layout.buffer(a);
             const bool dense = stride(a) == 1 && stride(b) == 1;
             const std::int64_t pieces = dense ? 1 : n, cells = dense ? n : 1;
             for (std::size_t plane = 0; plane < source.planes.size(); ++plane) {
               const std::int64_t piece_bytes = cells * source.planes[plane].width * dtype_bytes(source.dtype);
               for (int entry = 0; entry < source.batch; ++entry)
                 for (std::int64_t i = 0; i < pieces; ++i)
                   std::memcpy(memory.address(b, plane, entry, b_cell + i * stride(b)),
                               memory.address(a, plane, entry, a_cell + i * stride(a)),
                               static_cast<std::size_t>(piece_bytes));
               num_bytes += piece_bytes * pieces * source.batch;
             }
           });
  return num_bytes;
}

void load_cells(const HostMemory& memory, std::span<const CellRun> cells, std::size_t plane, int batch_entry,
                std::span<float> out) {
  float* next = out.data();
  for (const CellRun& run : cells) {
    const BufferLayout& layout = memory.layout().buffer(run.buffer);
    const std::int64_t count = run.num_cells * layout.planes[plane].width;
    to_floats(layout.dtype, memory.address(run.buffer, plane, batch_entry, run.cell), count, next);
    next += count;
  }
}

void save_cells(const HostMemory& memory, std::span<const CellRun> cells, std::size_t plane, int batch_entry,
                std::span<const float> in) {
  const float* next = in.data();
  for (const CellRun& run : cells) {
    const BufferLayout& layout = memory.layout().buffer(run.buffer);
    const std::int64_t count = run.num_cells * layout.planes[plane].width;
    from_floats(layout.dtype, next, count, memory.address(run.buffer, plane, batch_entry, run.cell));
    next += count;
  }
}

std::int64_t packed_bytes(const HostMemory& memory, std::span<const CellRun> cells) {
  std::int64_t bytes = 0;
  for (const CellRun& run : cells) {
    const BufferLayout& layout = memory.layout().buffer(run.buffer);
    for (const Plane& plane : layout.planes)
      bytes += run.num_cells * plane.width * dtype_bytes(layout.dtype) * layout.batch;
  }
  return bytes;
}

void pack_cells(const HostMemory& memory, std::span<const CellRun> cells, std::span<std::byte> out) {
  std::byte* next = out.data();
  for_each_piece(memory, cells, [&](std::byte* piece, std::size_t num_bytes) {
    std::memcpy(next, piece, num_bytes);
    next += num_bytes;
  });
}

void unpack_cells(const HostMemory& memory, std::span<const CellRun> cells, std::span<const std::byte> in) {
  const std::byte* next = in.data();
  for_each_piece(memory, cells, [&](std::byte* piece, std::size_t num_bytes) {
    std::memcpy(piece, next, num_bytes);
    next += num_bytes;
  });
}

void load_packed(const BufferLayout& layout, std::int64_t num_cells, std::span<const std::byte> packed,
                 std::size_t plane, int batch_entry, std::span<float> out) {
  std::int64_t before = batch_entry * num_cells * layout.planes[plane].width;
  for (std::size_t p = 0; p < plane; ++p) before += layout.batch * num_cells * layout.planes[p].width;
  to_floats(layout.dtype, packed.data() + before * dtype_bytes(layout.dtype), static_cast<std::int64_t>(out.size()),
            out.data());
}

std::vector<float> read_outputs(const HostMemory& memory, const OutputGather& outputs, int rank) {
  std::vector<float> read;
  for (const OutputGather::Share& share : outputs.shares()) {
    if (share.rank != rank || share.cells.empty()) continue;
    const int batch = memory.layout().buffer(share.cells.front().buffer).batch;
    for (int entry = 0; entry < batch; ++entry) {
      const std::size_t before = read.size();
      read.resize(before + static_cast<std::size_t>(share.num_elements));
      load_cells(memory, share.cells, 0, entry, std::span(read).subspan(before));
    }
  }
  return read;
}

void clear_slot(const HostMemory& memory, SlotId slot_id) {
  const BufferSlot& slot = memory.layout().slot(slot_id);
  for (BufferId id = slot.first_buffer; id < slot.first_buffer + slot.num_buffers; ++id) {
    const BufferLayout& layout = memory.layout().buffer(id);
    std::memset(memory.address(id, 0, 0, 0), 0, static_cast<std::size_t>(layout.allocated_bytes));
  }
}

void fill_slot(const HostMemory& memory, const Plan& plan, const Activations& activations, SlotId slot_id) {
  const BufferSlot& slot = memory.layout().slot(slot_id);
  for (BufferId id = slot.first_buffer; id < slot.first_buffer + slot.num_buffers; ++id) {
    const BufferLayout& layout = memory.layout().buffer(id);
    bool seen_stats = false;
    for (std::size_t plane = 0; plane < layout.planes.size(); ++plane) {
      const Tensor tensor = layout.planes[plane].tensor;
      InputSource source;
      if (layout.value != kNone)
        source = source_of(tensor, activations, plan.values[static_cast<std::size_t>(layout.value)].layer);
      if (source.data != nullptr) {
        fill_from_source(memory, *plan.sets, activations, source, id, plane);
        continue;
      }
      const std::int64_t count = layout.batch * layout.num_cells * layout.planes[plane].width;
      const bool row_sum = tensor == Tensor::kRowStats && seen_stats;
      seen_stats = seen_stats || tensor == Tensor::kRowStats;
      if (row_sum)
        std::fill_n(memory.floats(id, plane, 0, 0), count, 1.0f);
      else
        std::memset(memory.address(id, plane, 0, 0), 0, static_cast<std::size_t>(count * dtype_bytes(layout.dtype)));
    }
  }
}

}  // namespace spscope
