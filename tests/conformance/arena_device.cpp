#include "tests/conformance/arena_device.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "backend/base/ids.h"

namespace spscope::testing {
namespace {

constexpr std::int64_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5}, kNan{0xff};  // all bits set is NaN in bf16 and in fp32

std::vector<std::int32_t> members_of(const SetTable& sets, SetId set) {
  std::vector<std::int32_t> members;
  for (const Span& span : sets.spans(set))
    for (std::int32_t i = span.begin; i < span.end; ++i) members.push_back(i);
  return members;
}

// The input that a plane holds, [batch][columns][outer][inner][width]; nullptr: the plane is of no input.
const std::vector<float>* input_of(const Activations& activations, const Plan& plan, const BufferLayout& layout,
                                   Tensor tensor) {
  if (tensor == Tensor::kX && !activations.x.empty()) return &activations.x;
  if (layout.value == kNone) return nullptr;
  const std::size_t attention = at(plan.values[at(layout.value)].layer);
  if (attention >= activations.attentions.size()) return nullptr;
  const AttentionInput& input = activations.attentions[attention];
  return tensor == Tensor::kQ ? &input.q : tensor == Tensor::kK ? &input.k : tensor == Tensor::kV ? &input.v : nullptr;
}

}  // namespace

ArenaDevice::ArenaDevice(const Program& program, const Request& request, std::shared_ptr<LayerParameters> parameters)
    : program_(program),
      parameters_(std::move(parameters)),
      works_(program.plan().ops.size()),
      scratch_(at(program.plan().ranks)),
      arenas_(at(program.plan().ranks)),
      offsets_(program.layout().slots().size(), kClosed),
      buffer_offsets_(program.layout().buffers().size()),
      slot_of_buffer_(program.layout().buffers().size()),
      view_(program.layout()) {
  const Plan& plan = program.plan();
  CellFinder finder(plan, program.layout());
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (!communicates(plan.kind_of(plan.ops[id])))
      works_[id] =
          std::make_unique<ComputeWork>(prepare_compute(plan, request, parameters_.get(), finder, plan.ops[id]));
  for (SlotId id = 0; id < static_cast<SlotId>(offsets_.size()); ++id) {
    const BufferSlot& slot = program.layout().slot(id);
    std::int64_t next = 0;
    for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
      slot_of_buffer_[at(b)] = id;
      buffer_offsets_[at(b)] = next;
      next += program.layout().buffer(b).allocated_bytes;
    }
  }
}

// Twice the room of all slots of a rank, so that gaps between blocks do no harm.
void ArenaDevice::allocate() {
  std::vector<std::int64_t> bytes(arenas_.size());
  for (SlotId id = 0; id < static_cast<SlotId>(offsets_.size()); ++id)
    bytes[at(program_.layout().slot(id).rank)] += program_.layout().allocated_bytes(id) + 2 * kGuardBytes;
  for (std::size_t rank = 0; rank < arenas_.size(); ++rank) {
    arenas_[rank].memory = std::vector<Line>(2 * at(bytes[rank]) / sizeof(Line));
    for (Line& line : arenas_[rank].memory) std::ranges::fill(line.bytes, kNan);
    if (bytes[rank] > 0) arenas_[rank].first = arenas_[rank].memory.front().bytes;
  }
}

std::int64_t ArenaDevice::offset_of(BufferId buffer, std::size_t plane, int entry, std::int64_t cell) const {
  const std::int64_t slot_offset = offsets_[at(slot_of_buffer_[at(buffer)])];
  if (slot_offset == kClosed) throw std::logic_error("a cell of a closed slot");
  return slot_offset + buffer_offsets_[at(buffer)] + program_.layout().buffer(buffer).offset_bytes(plane, entry, cell);
}

void ArenaDevice::read_cell(BufferId buffer, std::size_t plane, int entry, std::int64_t cell, std::byte* out) const {
  const BufferLayout& layout = program_.layout().buffer(buffer);
  std::copy_n(arenas_[at(layout.rank)].first + offset_of(buffer, plane, entry, cell),
              layout.planes[plane].width * dtype_bytes(layout.dtype), out);
}

void ArenaDevice::write_cell(BufferId buffer, std::size_t plane, int entry, std::int64_t cell, const std::byte* in) {
  const BufferLayout& layout = program_.layout().buffer(buffer);
  std::copy_n(in, layout.planes[plane].width * dtype_bytes(layout.dtype),
              arenas_[at(layout.rank)].first + offset_of(buffer, plane, entry, cell));
}

void ArenaDevice::start(std::span<const std::int32_t> users) {
  users_.assign(users.begin(), users.end());
  for (SlotId id = 0; id < static_cast<SlotId>(offsets_.size()); ++id)
    if (offsets_[at(id)] != kClosed) free(arenas_[at(program_.layout().slot(id).rank)], id);
  for (Arena& arena : arenas_) {
    if (!arena.blocks.empty() || arena.live_bytes != 0) throw std::logic_error("a block without a slot");
    arena.peak_bytes = 0;
  }
}

// The first gap that is large enough.
bool ArenaDevice::make(SlotId id) {
  const BufferSlot& slot = program_.layout().slot(id);
  Arena& arena = arenas_[at(slot.rank)];
  const std::lock_guard lock(arena.mutex);
  if (offsets_[at(id)] != kClosed) return false;
  const std::int64_t num_bytes = program_.layout().allocated_bytes(id) + 2 * kGuardBytes;
  std::int64_t begin = 0;
  for (const auto& [offset, end] : arena.blocks) {
    if (begin + num_bytes <= offset) break;
    begin = end;
  }
  if (at(begin + num_bytes) > arena.memory.size() * sizeof(Line))
    throw std::runtime_error("the arena of rank " + std::to_string(slot.rank) + " is full");
  arena.blocks[begin] = begin + num_bytes;
  std::fill_n(arena.first + begin, kGuardBytes, kGuard);
  std::fill_n(arena.first + begin + num_bytes - kGuardBytes, kGuardBytes, kGuard);
  offsets_[at(id)] = begin + kGuardBytes;
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b)
    view_.set(b, arena.first + offsets_[at(id)] + buffer_offsets_[at(b)]);
  arena.live_bytes += slot.num_bytes;
  arena.peak_bytes = std::max(arena.peak_bytes, arena.live_bytes);
  return true;
}

void ArenaDevice::free(Arena& arena, SlotId id) {
  const BufferSlot& slot = program_.layout().slot(id);
  const auto block = arena.blocks.find(offsets_[at(id)] - kGuardBytes);
  const std::byte* const first = arena.first + block->first;
  const std::byte* const last = arena.first + block->second - kGuardBytes;
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  if (!std::all_of(first, first + kGuardBytes, is_guard) || !std::all_of(last, last + kGuardBytes, is_guard))
    throw std::logic_error("an op wrote outside of slot " + std::to_string(id));
  std::fill_n(arena.first + block->first, block->second - block->first, kNan);
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) view_.set(b, nullptr);
  arena.blocks.erase(block);
  offsets_[at(id)] = kClosed;
  arena.live_bytes -= slot.num_bytes;
}

void ArenaDevice::release(SlotId id) {
  Arena& arena = arenas_[at(program_.layout().slot(id).rank)];
  const std::lock_guard lock(arena.mutex);
  if (--users_[at(id)] == 0 && offsets_[at(id)] != kClosed) free(arena, id);
}

// What no input says: rows that have met one key of score 0 and value 0.
void ArenaDevice::fill(SlotId id, const Activations& activations) {
  make(id);
  const Plan& plan = program_.plan();
  const BufferSlot& slot = program_.layout().slot(id);
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
    const BufferLayout& layout = program_.layout().buffer(b);
    const std::vector<std::int32_t> columns = members_of(*plan.sets, layout.box.columns),
                                    outers = members_of(*plan.sets, layout.box.outer),
                                    inners = members_of(*plan.sets, layout.box.inner);
    for (std::size_t plane = 0; plane < layout.planes.size(); ++plane) {
      const Tensor tensor = layout.planes[plane].tensor;
      const std::int64_t width = layout.planes[plane].width;
      const std::vector<float>* const input = input_of(activations, plan, layout, tensor);
      const bool is_sum = tensor == Tensor::kRowStats && plane > 0 && layout.planes[plane - 1].tensor == tensor;
      const std::int64_t all_columns = tensor == Tensor::kX ? activations.hidden : activations.heads;
      for (int entry = 0; entry < layout.batch; ++entry)
        for (std::size_t c = 0; c < columns.size(); ++c)
          for (std::size_t o = 0; o < outers.size(); ++o)
            for (std::size_t i = 0; i < inners.size(); ++i) {
              std::vector<float> elements(at(width), is_sum ? 1.0f : 0.0f);
              const std::int64_t row = ((entry * all_columns + columns[c]) * activations.outer_tokens + outers[o]) *
                                           activations.inner_tokens +
                                       inners[i];
              if (input != nullptr) std::copy_n(input->begin() + row * width, width, elements.begin());
              std::vector<Bf16> rounded;
              for (const float x : elements) rounded.push_back(to_bf16(x));
              const void* const bytes = layout.dtype == Dtype::kFp32 ? static_cast<const void*>(elements.data())
                                                                     : static_cast<const void*>(rounded.data());
              const auto cell = static_cast<std::int64_t>(c) * layout.column_cells +
                                static_cast<std::int64_t>(o) * layout.outer_stride +
                                static_cast<std::int64_t>(i) * layout.inner_stride;
              write_cell(b, plane, entry, cell, static_cast<const std::byte*>(bytes));
            }
    }
  }
}

std::vector<float> ArenaDevice::read_outputs(int rank) const {
  std::vector<float> read;
  for (const OutputGather::Share& share : program_.outputs().shares()) {
    if (share.rank != rank) continue;
    for (int entry = 0; entry < program_.plan().batch; ++entry)
      for (const CellRun& run : share.cells) {
        const BufferLayout& layout = program_.layout().buffer(run.buffer);
        for (std::int64_t i = 0; i < run.num_cells; ++i) {
          std::vector<std::byte> bytes(at(layout.planes[0].width * dtype_bytes(layout.dtype)));
          read_cell(run.buffer, 0, entry, run.cell + i * layout.inner_stride, bytes.data());
          for (std::int32_t e = 0; e < layout.planes[0].width; ++e) {
            float fp32 = 0;
            Bf16 bf16{};
            if (layout.dtype == Dtype::kFp32)
              std::memcpy(&fp32, bytes.data() + at(e) * sizeof fp32, sizeof fp32);
            else
              std::memcpy(&bf16, bytes.data() + at(e) * sizeof bf16, sizeof bf16), fp32 = to_float(bf16);
            read.push_back(fp32);
          }
        }
      }
  }
  return read;
}

std::vector<std::int64_t> ArenaDevice::peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const Arena& arena : arenas_) peaks.push_back(arena.peak_bytes);
  return peaks;
}

std::vector<std::int64_t> ArenaDevice::staging_peak_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const ComputeScratch& scratch : scratch_) bytes.push_back(scratch.staging_bytes());
  return bytes;
}

void ArenaDevice::set_beat(int rank, std::function<void()> beat) { scratch_[at(rank)].beat = std::move(beat); }

void ArenaDevice::compute(int rank, OpId op) {
  run_compute(
      *works_[at(op)], view_, [this](SlotId slot) { return make(slot); }, scratch_[at(rank)]);
}

}  // namespace spscope::testing
