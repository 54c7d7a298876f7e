#include "collectors/nvml/gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "collectors/cuda_driver.h"

namespace spscope::nvml {
namespace {

constexpr const char* kCudaLibrary = "libcuda.so.1";
constexpr int kCudaSuccess = 0, kCudaNotInitialized = 3, kCudaNoDevice = 100;

// The calls of libcuda that are used, by their types without NVIDIA's header.
struct CudaCalls {
  int (*cuInit)(unsigned) = nullptr;
  int (*cuDeviceGetCount)(int*) = nullptr;
  int (*cuDeviceGet)(int*, int) = nullptr;
  int (*cuDeviceGetPCIBusId)(char*, int, int) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The first call that fails, as a text; "" when none does. Results of libcuda are an enum and here int, which the check
// of clang's sanitizer takes for another type of function.
#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
std::string
ask(const CudaCalls& calls, std::vector<std::string>& pci_ids) {
  int count = 0;
  int result = calls.cuDeviceGetCount(&count);
  if (result == kCudaNotInitialized) {
    result = calls.cuInit(0);
    if (result == kCudaSuccess) result = calls.cuDeviceGetCount(&count);
  }
  if (result == kCudaNoDevice) return {};
  if (result != kCudaSuccess) return fmt::format("cuInit failed with {}", result);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    std::array<char, 32> id = {};  // "0000:3B:00.0"
    if (calls.cuDeviceGet(&device, ordinal) != kCudaSuccess ||
        calls.cuDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device) != kCudaSuccess)
      return fmt::format("it does not say where GPU {} is", ordinal);
    pci_ids.emplace_back(id.data());
  }
  return {};
}

// How many GPUs NVML has; it counts those, too, that the process may not use.
int num_gpus(const Library& library) {
  std::uint32_t count = 0;
  const int result = library.calls().nvmlDeviceGetCount_v2(&count);
  if (result != kSuccess) throw failure(library.calls(), "", "nvmlDeviceGetCount_v2", result);
  return static_cast<int>(count);
}

std::vector<int> all_or(std::span<const int> numbers, int count) {
  std::vector<int> chosen;
  for (int ordinal = 0; ordinal < count; ++ordinal)
    if (numbers.empty() || std::ranges::any_of(numbers, [&](int number) { return number % count == ordinal; }))
      chosen.push_back(ordinal);
  return chosen;
}

bool is_divided(const Library& library, void* gpu) {
  std::uint32_t now = 0, pending = 0;
  return library.calls().nvmlDeviceGetMigMode(gpu, &now, &pending) == kSuccess && now != 0;
}

}  // namespace

CudaDevices ask_cuda() {
  CudaDevices cuda;
  void* const library = dlopen(kCudaLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    cuda.failure = why == nullptr ? kCudaLibrary : why;
    return cuda;
  }
  CudaCalls calls;
  if (!find(library, "cuInit", calls.cuInit) || !find(library, "cuDeviceGetCount", calls.cuDeviceGetCount) ||
      !find(library, "cuDeviceGet", calls.cuDeviceGet) ||
      !find(library, "cuDeviceGetPCIBusId", calls.cuDeviceGetPCIBusId))
    cuda.failure = fmt::format("{} is not CUDA's driver", kCudaLibrary);
  else
    cuda.failure = ask(calls, cuda.pci_ids);
  return cuda;
}

FoundGpus find_gpus(const Library& library, const CudaDevices& cuda, std::span<const int> numbers) {
  FoundGpus found;
  std::optional<Error> first_failure;
  const bool by_index = !cuda.failure.empty();
  if (by_index)
    found.notes.push_back(
        fmt::format("GPUs are numbered as by nvidia-smi, since CUDA does not answer: {}", cuda.failure));
  const int count = by_index ? num_gpus(library) : static_cast<int>(cuda.pci_ids.size());
  for (const int ordinal : all_or(numbers, count)) {
    Gpu gpu = {.ordinal = ordinal};
    if (!by_index) gpu.bus_id = cuda.pci_ids[static_cast<std::size_t>(ordinal)];
    const int result =
        by_index ? library.calls().nvmlDeviceGetHandleByIndex_v2(static_cast<std::uint32_t>(ordinal), &gpu.handle)
                 : library.calls().nvmlDeviceGetHandleByPciBusId_v2(gpu.bus_id.c_str(), &gpu.handle);
    if (result != kSuccess) {
      const Error error =
          failure(library.calls(), gpu_text(ordinal),
                  by_index ? "nvmlDeviceGetHandleByIndex_v2" : "nvmlDeviceGetHandleByPciBusId_v2", result);
      found.notes.push_back(note_of(error));
      if (!first_failure) first_failure = error;
      continue;
    }
    if (is_divided(library, gpu.handle))
      found.notes.push_back(fmt::format(
          "{}: it is divided into MIG instances: counters are of the whole GPU, and NVML measures no utilization",
          gpu_text(ordinal)));
    found.gpus.push_back(std::move(gpu));
  }
  if (!found.gpus.empty()) return found;
  if (first_failure) throw Error(*first_failure);
  throw Error(ErrorCode::kCannotCollect, fmt::format("{} sees no GPU", by_index ? "NVML" : "CUDA"),
              "see `nvidia-smi -L`, and whether CUDA_VISIBLE_DEVICES or a container hides the GPU");
}

}  // namespace spscope::nvml
