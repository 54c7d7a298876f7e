// Copies of the fake CUDA driver. Addresses are checked when a copy is enqueued and again when it runs. Memory of the
// host that the driver does not know may take part only in copies that say that they are to or from the host.
#include <fmt/format.h>

#include <cstring>

#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/observed.h"
#include "tests/fake_cuda/planted_times.h"

namespace spscope::fake_cuda {
namespace {

enum class Place { kDevice, kHost, kUnified };

// `rows` of `row_bytes`, `pitch` bytes from one to the next.
struct Area {
  std::uintptr_t address = 0;
  std::size_t pitch = 0;
  Place place = Place::kUnified;
};

struct CopyCall {
  Area to, from;
  std::size_t row_bytes = 0, rows = 1;
  const char* call = "";
};

std::size_t extent_of(const CopyCall& copy, const Area& area) { return (copy.rows - 1) * area.pitch + copy.row_bytes; }

// Memory of the host that is neither pinned nor registered.
bool is_pageable(const Area& area) { return area.place == Place::kHost && !fake().allocations.is_known(area.address); }

void check_area(const CopyCall& copy, const Area& area, const char* end, CUresult result) {
  if (is_pageable(area)) return;
  const Allocation found =
      fake().allocations.holding(area.address, extent_of(copy, area), result, fmt::format("{} {}", copy.call, end));
  const bool of_host = found.kind == MemoryKind::kHost || found.kind == MemoryKind::kRegistered;
  if ((area.place == Place::kDevice && of_host) || (area.place == Place::kHost && !of_host))
    throw Fault{CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} {} the wrong kind of memory: {}", copy.call, end, found.text())};
}

void check(const CopyCall& copy, CUresult result) {
  if (copy.rows > 1 && (copy.to.pitch < copy.row_bytes || copy.from.pitch < copy.row_bytes))
    throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("{} of rows that are longer than their pitch", copy.call)};
  check_area(copy, copy.to, "to", result);
  check_area(copy, copy.from, "from", result);
  const bool apart = copy.to.address >= copy.from.address + extent_of(copy, copy.from) ||
                     copy.from.address >= copy.to.address + extent_of(copy, copy.to);
  // Columns of one matrix may be copied beside each other; rows that overlap may not.
  if (apart || (copy.rows > 1 && copy.to.pitch == copy.from.pitch)) return;
  throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("{} between areas that overlap", copy.call)};
}

void run(const CopyCall& copy) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t row = 0; row < copy.rows; ++row)
    std::memcpy(reinterpret_cast<void*>(copy.to.address + row * copy.to.pitch),
                reinterpret_cast<const void*>(copy.from.address + row * copy.from.pitch), copy.row_bytes);
  stretch(begin);
}

void describe(const CopyCall& copy, FakeDriverWork& work) {
  work.bytes = copy.row_bytes * copy.rows;
  const auto describe_end = [&](const Area& area, bool& is_host, std::uint32_t& device) {
    const bool is_known = !is_pageable(area);
    const Allocation found = is_known ? fake().allocations.holding(area.address, 1, CUDA_ERROR_INVALID_VALUE, copy.call)
                                      : Allocation{.kind = MemoryKind::kHost};
    is_host = found.kind == MemoryKind::kHost || found.kind == MemoryKind::kRegistered;
    device = static_cast<std::uint32_t>(found.device);
  };
  describe_end(copy.from, work.from_host, work.source_device);
  describe_end(copy.to, work.to_host, work.target_device);
}

void copy_in(CUstream_st& stream, const CopyCall& copy) {
  if (copy.row_bytes == 0 || copy.rows == 0) return;
  check(copy, CUDA_ERROR_INVALID_VALUE);
  // A real driver, too, takes pageable memory when it is called, and has filled it when the call returns.
  const auto staged =
      is_pageable(copy.from) ? std::make_shared<std::vector<std::byte>>(extent_of(copy, copy.from)) : nullptr;
  if (staged != nullptr) std::memcpy(staged->data(), reinterpret_cast<const void*>(copy.from.address), staged->size());
  Observed observed(kCopyCall, FakeDriverWork::kCopy, stream);
  describe(copy, observed.work);
  enqueue(stream, [copy, staged, observed]() mutable {
    check(copy, CUDA_ERROR_ILLEGAL_ADDRESS);
    observed.begin();
    CopyCall now = copy;
    // Planted are the times of copies within and between devices; what comes from the host is needed.
    if (fake().settings.planted_times && copy.from.place == Place::kUnified) {
      running_stream().planted_ns += kCopyNs + kCopyByteNs * static_cast<double>(copy.row_bytes * copy.rows);
      return observed.end();
    }
    if (staged != nullptr) now.from.address = reinterpret_cast<std::uintptr_t>(staged->data());
    run(now);
    observed.end();
  });
  if (is_pageable(copy.to)) wait_for(stream);
}

CUresult copy_bytes(CUstream stream, Area to, Area from, std::size_t num_bytes, const char* name) {
  return call([&] { copy_in(made(stream), {.to = to, .from = from, .row_bytes = num_bytes, .call = name}); });
}

Area of_host(const void* data) { return {.address = reinterpret_cast<std::uintptr_t>(data), .place = Place::kHost}; }
Area of_device(CUdeviceptr address) { return {.address = address, .place = Place::kDevice}; }

Area area_of(CUmemorytype type, CUdeviceptr address, std::size_t pitch) {
  if (type != CU_MEMORYTYPE_UNIFIED)
    throw Fault{CUDA_ERROR_NOT_SUPPORTED, "cuMemcpy2DAsync of an array, or of one place"};
  return {.address = address, .pitch = pitch};
}

}  // namespace

extern "C" {

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t num_bytes, CUstream stream) {
  return copy_bytes(stream, {.address = to}, {.address = from}, num_bytes, "cuMemcpyAsync");
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t num_bytes, CUstream stream) {
  return copy_bytes(stream, of_device(to), of_host(from), num_bytes, "cuMemcpyHtoDAsync");
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t num_bytes, CUstream stream) {
  return copy_bytes(stream, of_host(to), of_device(from), num_bytes, "cuMemcpyDtoHAsync");
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* given, CUstream stream) {
  return call([&] {
    if (fake().settings.pitch == 0) throw Fault{CUDA_ERROR_INVALID_VALUE, ""};
    copy_in(made(stream), {.to = area_of(given->dstMemoryType, given->dstDevice, given->dstPitch),
                           .from = area_of(given->srcMemoryType, given->srcDevice, given->srcPitch),
                           .row_bytes = given->WidthInBytes,
                           .rows = given->Height,
                           .call = "cuMemcpy2DAsync"});
  });
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t num_bytes, CUstream stream) {
  return call([&] {
    CUstream_st& into = made(stream);
    fake().allocations.holding(address, num_bytes, CUDA_ERROR_INVALID_VALUE, "cuMemsetD8Async");
    Observed observed(kMemsetCall, FakeDriverWork::kMemset, into);
    observed.work.bytes = num_bytes;
    enqueue(into, [=]() mutable {
      fake().allocations.holding(address, num_bytes, CUDA_ERROR_ILLEGAL_ADDRESS, "cuMemsetD8Async");
      observed.begin();
      const auto begin = std::chrono::steady_clock::now();
      std::memset(reinterpret_cast<void*>(address), value, num_bytes);
      stretch(begin);
      observed.end();
    });
  });
}

}  // extern "C"

}  // namespace spscope::fake_cuda
