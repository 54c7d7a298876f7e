#include "backend/execute/cuda/peer_copies.h"

#include "backend/base/check.h"
#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

constexpr std::int64_t kMaxPitchBytes = 0x7fffffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU so far

bool is_pitch(std::int64_t pitch, std::int64_t width) { return width <= pitch && pitch <= kMaxPitchBytes; }

// Adds a run of bytes to the last copy where both form rows with a common pitch; false: they do not.
bool join(PeerCopy& last, CUdeviceptr from, CUdeviceptr to, std::int64_t num_bytes) {
  const auto from_step = static_cast<std::int64_t>(from - last.from), to_step = static_cast<std::int64_t>(to - last.to);
  if (last.height == 1 && from_step == last.width && to_step == last.width) {
    last.width += num_bytes;
    return true;
  }
  if (num_bytes != last.width) return false;
  if (last.height == 1) {
    if (!is_pitch(from_step, last.width) || !is_pitch(to_step, last.width)) return false;
    last.from_pitch = from_step;
    last.to_pitch = to_step;
  } else if (from_step != last.height * last.from_pitch || to_step != last.height * last.to_pitch) {
    return false;
  }
  ++last.height;
  return true;
}

}  // namespace

std::vector<PeerCopy> peer_copies(const DeviceSlots& slots, std::span<const CellRun> from,
                                  std::span<const CellRun> to) {
  std::vector<PeerCopy> copies;
  if (from.empty()) return copies;
  const MemoryLayout& layout = slots.layout();
  const auto stride = [&](BufferId id) { return layout.buffer(id).inner_stride; };
  const BufferLayout& like = layout.buffer(from.front().buffer);
  for (std::size_t plane = 0; plane < like.planes.size(); ++plane)
    for (int entry = 0; entry < like.batch; ++entry)
      zip_runs(from, to, stride, stride,
               [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
                 SPSCOPE_CHECK(stride(a) == 1 && stride(b) == 1);  // of values, the inner axis is the fastest
                 const CUdeviceptr source = slots.address(a, plane, entry, a_cell),
                                   target = slots.address(b, plane, entry, b_cell);
                 const std::int64_t num_bytes = n * like.planes[plane].width * dtype_bytes(like.dtype);
                 if (copies.empty() || !join(copies.back(), source, target, num_bytes))
                   copies.push_back({source, target, num_bytes, 1, 0, 0});
               });
  return copies;
}

void enqueue_copy(const PeerCopy& copy, CUstream stream) {
  if (copy.height == 1) {
    check(driver().cuMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.width), stream), "cuMemcpyAsync");
    return;
  }
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.srcDevice = copy.from;
  rows.dstDevice = copy.to;
  rows.srcPitch = static_cast<std::size_t>(copy.from_pitch);
  rows.dstPitch = static_cast<std::size_t>(copy.to_pitch);
  rows.WidthInBytes = static_cast<std::size_t>(copy.width);
  rows.Height = static_cast<std::size_t>(copy.height);
  const CUresult result = driver().cuMemcpy2DAsync(&rows, stream);
  if (result != CUDA_ERROR_INVALID_VALUE) return check(result, "cuMemcpy2DAsync");
  // Within a device, a driver may refuse pitches that are not of its own making (<cuda.h>, cuMemcpy2DAsync).
  for (std::int64_t row = 0; row < copy.height; ++row)
    check(driver().cuMemcpyAsync(copy.to + static_cast<CUdeviceptr>(row * copy.to_pitch),
                                 copy.from + static_cast<CUdeviceptr>(row * copy.from_pitch),
                                 static_cast<std::size_t>(copy.width), stream),
          "cuMemcpyAsync");
}

}  // namespace spscope::cuda
