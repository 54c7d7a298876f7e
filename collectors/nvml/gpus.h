// Which GPUs of NVML a process computes on. CUDA numbers those that CUDA_VISIBLE_DEVICES leaves it, the fastest first;
// NVML numbers all by their place on the bus. So GPUs are matched by their PCI bus ids, which of a MIG instance is that
// of its GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectors/nvml/library.h"

namespace spscope::nvml {

// What CUDA sees in this process.
struct CudaDevices {
  std::vector<std::string> pci_ids = {};  // by ordinal
  std::string failure = {};               // why CUDA does not answer; "": it does
};
// By the process's libcuda. Initialises it where the process has not. Not to be called while cuInit() runs.
CudaDevices ask_cuda();

struct Gpu {
  int ordinal = 0;  // CUDA's, or NVML's index where CUDA does not answer
  void* handle = nullptr;
  std::string bus_id = {};  // "" where CUDA does not answer
};

struct FoundGpus {
  std::vector<Gpu> gpus;
  std::vector<std::string> notes;  // GPUs that are left out, and how those are that are not as expected
};

// The GPUs of these numbers, modulo how many CUDA sees, as ranks take them, or all of them. Throws Error
// (kCannotCollect): there is none.
FoundGpus find_gpus(const Library& library, const CudaDevices& cuda, std::span<const int> numbers);

}  // namespace spscope::nvml
