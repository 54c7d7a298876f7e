// Memory of the fake CUDA driver: a device's is memory of the host, so that emulated kernels reach it by its address.
// Around each allocation are guard zones; what writes there is found by check_guards(). Addresses are never used again.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace spscope::fake_cuda {

// A call or a piece of work went wrong: what it returns and, for people, what happened.
struct Fault {
  CUresult result;
  std::string words;
};

enum class MemoryKind { kDevice, kHost, kRegistered, kIpc };

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;  // of kDevice and kIpc
  int number = 0;  // counted from 1 in each process
  std::uintptr_t begin = 0;
  std::size_t num_bytes = 0;
  // The mapping with the guard zones; nothing for kRegistered.
  std::uintptr_t mapped = 0;
  std::size_t mapped_bytes = 0;
  int file = -1;  // of kDevice: what other processes open

  std::uintptr_t end() const { return begin + num_bytes; }
  // "allocation 3 of device 0 (4096 bytes at 0x7f...)"
  std::string text() const;
};

class Allocations {
 public:
  // New memory is filled with 0xff: NaN in every type of floating point. Throws Fault.
  Allocation allocate(MemoryKind kind, int device, std::size_t num_bytes, std::size_t device_bytes);
  void add_registered(void* begin, std::size_t num_bytes);  // throws Fault
  // Checks the guards and gives the memory up. Throws Fault: `address` is not the begin of an allocation of that kind.
  void free(std::uintptr_t address, MemoryKind kind);

  CUipcMemHandle ipc_handle(std::uintptr_t address);              // throws Fault
  std::uintptr_t open(const CUipcMemHandle& handle, int device);  // throws Fault

  // The allocation that holds all of these bytes. Throws Fault(result) naming what is there instead.
  Allocation holding(std::uintptr_t address, std::size_t num_bytes, CUresult result, const std::string& what) const;
  bool is_known(std::uintptr_t address) const;
  std::size_t used_bytes(int device) const;
  int made() const;  // how many there have been
  // Throws Fault naming the first allocation that somebody wrote around.
  void check_guards() const;

 private:
  void free_locked(std::map<std::uintptr_t, Allocation>::iterator at);
  std::string words_about(std::uintptr_t address, std::size_t num_bytes) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> live_, freed_;
  int number_ = 0;
};

}  // namespace spscope::fake_cuda
