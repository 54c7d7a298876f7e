#include "collectors/cupti/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

namespace spscope::cupti {
namespace {

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

bool is_library(const std::string& path, std::string_view name) { return name_of(path).starts_with(name); }

std::vector<std::string> mapped_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

// Files of a folder that are libcupti, the longest name first: that of the library itself, not of links to it.
void add_files(const std::filesystem::path& folder, std::vector<std::string>& candidates) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
    if (is_library(file->path().string(), "libcupti.so")) found.push_back(file->path().lexically_normal().string());
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  candidates.insert(candidates.end(), found.begin(), found.end());
}

// The first call that the library lacks; "" when it has all that it must have.
std::string find_calls(void* library, Calls& calls) {
#define CUPTI_CALL_SINCE(name, arguments) calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library, #name));
#define CUPTI_CALL(name, arguments) \
  CUPTI_CALL_SINCE(name, arguments) \
  if (calls.name == nullptr) return #name;
#include "collectors/cupti/calls.def"
#undef CUPTI_CALL
#undef CUPTI_CALL_SINCE
  return {};
}

std::string version_text(std::uint32_t version) {
  if (version >= 130000) return fmt::format("CUPTI {}.{}", version / 10000, version / 100 % 100);
  return version == 0 ? "CUPTI" : fmt::format("CUPTI with API version {}", version);
}

// How to go on after a result; "" when only its name helps.
std::string remedy(int result, std::string_view other) {
  switch (result) {
    case kMultipleSubscribers:
      return other.empty() ? "one program at a time may trace a process: run without Nsight Systems, Nsight Compute, "
                             "torch.profiler, DCGM's profiling or compute-sanitizer"
                           : fmt::format("one program at a time may trace a process: run without {}", other);
    case kInsufficientPrivileges:
    case kVirtualizedPrivileges:
      return "the driver keeps profiling to administrators: run as root, or have the administrator set "
             "NVreg_RestrictProfilingToAdminUsers=0 for the kernel module nvidia (in a container: --cap-add SYS_ADMIN)";
    case kHardwareBusy:
      return "another program holds the profiling hardware of the GPU: stop it, for DCGM by `dcgmi profile --pause`";
    case kVirtualized:
      return "ask the host's administrator to allow profiling for this virtual GPU";
    case kMig:
      return "CUPTI does not trace this MIG instance: run on a whole GPU";
    case kConfidentialComputing:
      return "the GPU is in the mode for confidential computing, in which nothing is traced";
    case kWsl:
      return "CUPTI does not trace under WSL: run on Linux itself";
    case kNotInitialized:
    case kUnknown:
      return "it does not reach the CUDA driver: see `nvidia-smi`, and whether the driver is at least as new as this "
             "CUPTI";
    default:
      return {};
  }
}

}  // namespace

std::vector<std::string> library_candidates(std::span<const std::string> mapped) {
  std::vector<std::string> candidates;
  for (const std::string& path : mapped)
    if (is_library(path, "libcupti.so")) candidates.push_back(path);
  for (const std::string& path : mapped) {
    if (!is_library(path, "libcudart.so")) continue;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    add_files(folder, candidates);                                  // distributions, and links in toolkits
    add_files(folder / "../../cuda_cupti/lib", candidates);         // NVIDIA's Python packages of CUDA 11 and 12
    add_files(folder / "../extras/CUPTI/lib64", candidates);        // toolkits
    add_files(folder / "../../../extras/CUPTI/lib64", candidates);  // toolkits, runtime below targets/ARCHITECTURE/lib
  }
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so"})
    candidates.emplace_back(name);
  return candidates;
}

Library open_library(std::span<const std::string> candidates) {
  std::string reasons;
  for (const std::string& path : candidates) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const why = dlerror();
      reasons += fmt::format("\n    {}", why == nullptr ? path : why);
      continue;
    }
    Library library = {.calls = {}, .path = path};
    if (const std::string missing = find_calls(handle, library.calls); !missing.empty()) {
      reasons += fmt::format("\n    {}: it has no {}, so it is older than CUDA 11.7", path, missing);
      continue;
    }
    if (library.calls.cuptiGetVersion(&library.version) != kSuccess) library.version = 0;
    return library;
  }
  throw Error(ErrorCode::kCannotCollect, fmt::format("NVIDIA's libcupti cannot be opened:{}", reasons),
              "install CUPTI of the CUDA that the program uses (package cuda-cupti, or nvidia-cuda-cupti of PyPI), and "
              "name its folder in LD_LIBRARY_PATH");
}

Library open_library(const std::string& path) {
  if (!path.empty()) return open_library(std::span<const std::string>(&path, 1));
  return open_library(library_candidates(mapped_libraries()));
}

RecordSizes ask_record_sizes(const Library& library) {
  RecordSizes sizes;
  // Wherever the second record begins, its kind stands there. No record of CUPTI 13 is a quarter as long.
  std::vector<std::uint64_t> words(256);
  auto* const buffer = reinterpret_cast<std::uint8_t*>(words.data());
  const std::size_t num_bytes = words.size() * sizeof words[0];
  bool any = false;
  for (std::uint32_t kind = 1; kind < RecordSizes::kNumKinds; ++kind) {
    std::fill(words.begin(), words.end(), kind);
    std::uint8_t* record = nullptr;
    if (library.calls.cuptiActivityGetNextRecord(buffer, num_bytes, &record) != kSuccess || record != buffer) continue;
    if (library.calls.cuptiActivityGetNextRecord(buffer, num_bytes, &record) != kSuccess) continue;
    const std::ptrdiff_t step = record - buffer;
    if (step <= 0 || step % 8 != 0 || step >= static_cast<std::ptrdiff_t>(num_bytes)) continue;
    sizes.bytes[kind] = static_cast<std::uint32_t>(step);
    any = true;
  }
  if (!any)
    throw Error(ErrorCode::kCannotCollect,
                fmt::format("{} ({}) does not step over records", version_text(library.version), library.path),
                remedy(kUnknown, {}));
  return sizes;
}

Error failure(const Library& library, std::string_view call, int result, std::string_view other) {
  const char* name = nullptr;
  if (library.calls.cuptiGetResultString(static_cast<std::uint32_t>(result), &name) != kSuccess) name = nullptr;
  std::string message = fmt::format("{} ({}): {} failed with {}, {}", version_text(library.version), library.path, call,
                                    result, name == nullptr ? "which has no name" : name);
  if (!other.empty()) message += fmt::format(": \"{}\" traces this process already", other);
  std::string hint = remedy(result, other);
  return Error(ErrorCode::kCannotCollect, std::move(message), std::move(hint));
}

void check(const Library& library, std::string_view call, int result) {
  if (result != kSuccess) throw failure(library, call, result);
}

}  // namespace spscope::cupti
