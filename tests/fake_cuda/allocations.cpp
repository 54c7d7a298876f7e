#include "tests/fake_cuda/allocations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/kernels.h"

namespace spscope::fake_cuda {
namespace {

// On each side. A row of attention that is written one too far lands in it.
constexpr std::size_t kGuardBytes = 16384, kPageBytes = 4096;
constexpr unsigned char kGuard = 0xc5, kFresh = 0xff;

struct IpcContent {
  std::array<char, 8> mark = {'s', 'p', 's', 'f', 'a', 'k', 'e', '1'};
  pid_t process = 0;
  int file = 0;
  std::size_t num_bytes = 0, mapped_bytes = 0;
};
static_assert(sizeof(IpcContent) <= sizeof(CUipcMemHandle));

// Of the first byte of [begin, end) that is not a guard's; -1: all are.
std::ptrdiff_t first_written(const unsigned char* begin, const unsigned char* end) {
  static const auto guard = [] {
    std::array<unsigned char, kGuardBytes + kPageBytes> bytes;
    bytes.fill(kGuard);
    return bytes;
  }();
  if (std::memcmp(begin, guard.data(), static_cast<std::size_t>(end - begin)) == 0) return -1;
  for (const unsigned char* byte = begin;; ++byte)
    if (*byte != kGuard) return byte - begin;
}

void check_guards_of(const Allocation& allocation) {
  if (allocation.kind != MemoryKind::kDevice && allocation.kind != MemoryKind::kHost) return;
  const auto* const mapped = reinterpret_cast<const unsigned char*>(allocation.mapped);
  const auto* const begin = reinterpret_cast<const unsigned char*>(allocation.begin);
  if (const std::ptrdiff_t at = first_written(mapped, begin); at >= 0)
    throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS,
                fmt::format("something wrote {} bytes before {}", begin - mapped - at, allocation.text())};
  const unsigned char* const end = begin + allocation.num_bytes;
  if (const std::ptrdiff_t at = first_written(end, mapped + allocation.mapped_bytes); at >= 0)
    throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS,
                fmt::format("something wrote {} bytes after the end of {}", at, allocation.text())};
}

void* map_file(int file, std::size_t num_bytes) {
  void* const mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

}  // namespace

std::string Allocation::text() const {
  static constexpr std::array<const char*, 4> kKinds = {"of device", "of the host", "registered", "of another process"};
  return fmt::format("allocation {} {}{} ({} bytes at {:#x})", number, kKinds[static_cast<std::size_t>(kind)],
                     kind == MemoryKind::kDevice ? fmt::format(" {}", device) : "", num_bytes, begin);
}

Allocation Allocations::allocate(MemoryKind kind, int device, std::size_t num_bytes, std::size_t device_bytes) {
  if (num_bytes == 0) throw Fault{CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes"};
  if (kind == MemoryKind::kDevice && num_bytes > device_bytes - std::min(device_bytes, used_bytes(device)))
    throw Fault{CUDA_ERROR_OUT_OF_MEMORY, ""};
  Allocation made{.kind = kind, .device = device, .num_bytes = num_bytes};
  made.mapped_bytes = 2 * kGuardBytes + (num_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  made.file = memfd_create("spscope_fake_cuda", MFD_CLOEXEC);
  void* mapped = nullptr;
  if (made.file >= 0 && ftruncate(made.file, static_cast<off_t>(made.mapped_bytes)) == 0)
    mapped = map_file(made.file, made.mapped_bytes);
  if (mapped == nullptr) {
    close(made.file);
    throw Fault{CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory for the fake device"};
  }
  std::memset(mapped, kGuard, made.mapped_bytes);
  made.mapped = reinterpret_cast<std::uintptr_t>(mapped);
  made.begin = made.mapped + kGuardBytes;
  std::memset(reinterpret_cast<void*>(made.begin), kFresh, num_bytes);
  announce_memory(made.begin, num_bytes);
  const std::lock_guard lock(mutex_);
  made.number = ++number_;
  live_[made.begin] = made;
  return made;
}

void Allocations::add_registered(void* begin, std::size_t num_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (num_bytes == 0 || address % kPageBytes != 0)
    throw Fault{CUDA_ERROR_INVALID_VALUE, "registered memory begins at a page and is not empty"};
  const std::lock_guard lock(mutex_);
  const auto after = live_.lower_bound(address + num_bytes);
  if (after != live_.begin() && std::prev(after)->second.end() > address)
    throw Fault{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "in " + std::prev(after)->second.text()};
  live_[address] = {.kind = MemoryKind::kRegistered, .number = ++number_, .begin = address, .num_bytes = num_bytes};
  announce_memory(address, num_bytes);
}

void Allocations::free_locked(std::map<std::uintptr_t, Allocation>::iterator at) {
  const Allocation allocation = at->second;
  retract_memory(allocation.begin);
  // The addresses stay taken, so that what still uses them is found.
  if (allocation.kind != MemoryKind::kRegistered)
    mmap(reinterpret_cast<void*>(allocation.mapped), allocation.mapped_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (allocation.file >= 0 && fake().settings.stale == 0) close(allocation.file);
  live_.erase(at);
  if (allocation.kind != MemoryKind::kRegistered) freed_[allocation.begin] = allocation;
}

void Allocations::free(std::uintptr_t address, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const auto at = live_.find(address);
  if (at == live_.end() || at->second.kind != kind)
    throw Fault{kind == MemoryKind::kRegistered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE,
                fmt::format("given up, but not taken: {}", words_about(address, 1))};
  check_guards_of(at->second);
  free_locked(at);
}

CUipcMemHandle Allocations::ipc_handle(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = live_.find(address);
  if (at == live_.end() || at->second.kind != MemoryKind::kDevice)
    throw Fault{CUDA_ERROR_INVALID_VALUE, "cuIpcGetMemHandle: " + words_about(address, 1)};
  IpcContent content;
  content.process = getpid();
  content.file = at->second.file;
  content.num_bytes = at->second.num_bytes;
  content.mapped_bytes = at->second.mapped_bytes;
  CUipcMemHandle handle{};
  std::memcpy(&handle, &content, sizeof content);
  return handle;
}

std::uintptr_t Allocations::open(const CUipcMemHandle& handle, int device) {
  IpcContent content;
  std::memcpy(static_cast<void*>(&content), &handle, sizeof content);
  if (content.mark != IpcContent{}.mark) throw Fault{CUDA_ERROR_INVALID_VALUE, "not a handle of cuIpcGetMemHandle"};
  if (content.process == getpid()) throw Fault{CUDA_ERROR_INVALID_CONTEXT, "a process opens a handle of its own"};
  const std::lock_guard lock(mutex_);
  const std::string path = fmt::format("/proc/{}/fd/{}", content.process, content.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = file < 0 ? nullptr : map_file(file, content.mapped_bytes);
  close(file);
  if (mapped == nullptr)
    throw Fault{CUDA_ERROR_INVALID_VALUE, fmt::format("process {} is gone, or gave its memory up", content.process)};
  Allocation opened{.kind = MemoryKind::kIpc, .device = device, .number = ++number_, .num_bytes = content.num_bytes};
  opened.mapped = reinterpret_cast<std::uintptr_t>(mapped);
  opened.mapped_bytes = content.mapped_bytes;
  opened.begin = opened.mapped + kGuardBytes;
  live_[opened.begin] = opened;
  announce_memory(opened.begin, opened.num_bytes);
  return opened.begin;
}

std::string Allocations::words_about(std::uintptr_t address, std::size_t num_bytes) const {
  const std::string bytes = fmt::format("{} bytes at {:#x}", num_bytes, address);
  const auto before = [&](const std::map<std::uintptr_t, Allocation>& map) -> const Allocation* {
    const auto after = map.upper_bound(address);
    return after == map.begin() ? nullptr : &std::prev(after)->second;
  };
  if (const Allocation* const known = before(live_); known != nullptr && address <= known->end() + kGuardBytes)
    return fmt::format("{} begin {} bytes into {}", bytes, address - known->begin, known->text());
  if (const Allocation* const known = before(freed_); known != nullptr && address < known->end())
    return fmt::format("{} are in {}, which was given up", bytes, known->text());
  return bytes + " are in no allocation";
}

Allocation Allocations::holding(std::uintptr_t address, std::size_t num_bytes, CUresult result,
                                const std::string& what) const {
  const std::lock_guard lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after != live_.begin())
    if (const Allocation& known = std::prev(after)->second; address + num_bytes <= known.end()) return known;
  throw Fault{result, fmt::format("{}: {}", what, words_about(address, num_bytes))};
}

bool Allocations::is_known(std::uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  for (const auto* const map : {&live_, &freed_}) {
    const auto after = map->upper_bound(address);
    if (after != map->begin() && address < std::prev(after)->second.end()) return true;
  }
  return false;
}

std::size_t Allocations::used_bytes(int device) const {
  const std::lock_guard lock(mutex_);
  std::size_t used = 0;
  for (const auto& [begin, allocation] : live_)
    if (allocation.kind == MemoryKind::kDevice && allocation.device == device) used += allocation.num_bytes;
  return used;
}

int Allocations::made() const {
  const std::lock_guard lock(mutex_);
  return number_;
}

void Allocations::check_guards() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, allocation] : live_) check_guards_of(allocation);
}

}  // namespace spscope::fake_cuda
