#include "collectors/cupti/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

#include "collectors/cuda_driver.h"

namespace spscope::cupti {
namespace {

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// Also one that a Python package renamed: libcupti-1a2b3c4d.so.12.
bool is_library(const std::string& path, std::string_view name) {
  const std::string file = name_of(path);
  return file.starts_with(name) && file.find(".so") != std::string::npos && file.size() > name.size() &&
         (file[name.size()] == '.' || file[name.size()] == '-');
}

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
    if (is_library(file->path().string(), "libcupti")) found.push_back(file->path().lexically_normal().string());
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  candidates.insert(candidates.end(), found.begin(), found.end());
}

// What these libraries of a process are or bring, in order.
std::vector<std::string> candidates_of(std::span<const std::string> mapped) {
  std::vector<std::string> candidates;
  for (const std::string& path : mapped)
    if (is_library(path, "libcupti")) candidates.push_back(path);
  for (const std::string& path : mapped) {
    if (!is_library(path, "libcudart")) continue;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    add_files(folder, candidates);                                  // distributions, and links in toolkits
    add_files(folder / "../../cuda_cupti/lib", candidates);         // NVIDIA's Python packages of CUDA 11 and 12
    add_files(folder / "../extras/CUPTI/lib64", candidates);        // toolkits
    add_files(folder / "../../../extras/CUPTI/lib64", candidates);  // toolkits, runtime below targets/ARCHITECTURE/lib
  }
  return candidates;
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

std::vector<std::string> library_candidates(std::span<const std::string> mapped, int driver_version) {
  std::vector<std::string> candidates = candidates_of(mapped);
  // Those that are newer than the driver come last.
  const auto is_newer = [&](int cuda) { return driver_version > 0 && cuda > driver_version / 1000; };
  struct Known {
    const char* name;
    int cuda;
  };
  constexpr Known kNames[] = {
      {"libcupti.so.13", 13}, {"libcupti.so.12", 12}, {"libcupti.so.11.8", 11}, {"libcupti.so.11.7", 11}};
  for (const bool newer : {false, true})
    for (const Known& known : kNames)
      if (is_newer(known.cuda) == newer) candidates.emplace_back(known.name);
  candidates.emplace_back("libcupti.so");
  return candidates;
}

std::vector<std::string> library_candidates(const std::string& path) {
  if (!path.empty()) return {path};
  return library_candidates(mapped_libraries(), cuda_driver_version());
}

std::vector<std::string> libraries_of_program() { return candidates_of(mapped_libraries()); }

std::optional<Library> LibrarySearch::next() {
  while (next_ < candidates_.size()) {
    const std::string& path = candidates_[next_++];
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const why = dlerror();
      reasons_ += fmt::format("\n    {}", why == nullptr ? path : why);
      continue;
    }
    if (std::ranges::find(opened_, handle) != opened_.end()) continue;
    opened_.push_back(handle);
    Library library = {.calls = {}, .handle = handle, .path = path};
    if (const std::string missing = find_calls(handle, library.calls); !missing.empty()) {
      reasons_ += fmt::format("\n    {}: it has no {}, so it is older than CUDA 11.7", path, missing);
      continue;
    }
    if (library.calls.cuptiGetVersion(&library.version) != kSuccess) library.version = 0;
    return library;
  }
  return std::nullopt;
}

Error LibrarySearch::none() const {
  return Error(
      ErrorCode::kCannotCollect, fmt::format("NVIDIA's libcupti cannot be opened:{}", reasons_),
      "install CUPTI of the CUDA that the program uses (package cuda-cupti, or nvidia-cuda-cupti of PyPI), and "
      "name its folder in LD_LIBRARY_PATH");
}

std::string file_of(const Library& library) {
  Dl_info file = {};
  const bool is_name = library.path.find('/') == std::string::npos;
  if (!is_name || dladdr(reinterpret_cast<const void*>(library.calls.cuptiGetVersion), &file) == 0 ||
      file.dli_fname == nullptr)
    return library.path;
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(file.dli_fname, error);
  return error ? file.dli_fname : found.string();
}

bool another_library_may_do(int result) {
  switch (result) {
    case kMultipleSubscribers:
    case kInsufficientPrivileges:
    case kVirtualizedPrivileges:
    case kHardwareBusy:
    case kVirtualized:
    case kMig:
    case kConfidentialComputing:
    case kWsl:
      return false;
    default:
      return true;
  }
}

RecordSizes ask_record_sizes(const Library& library) {
  RecordSizes sizes;
  // Wherever the second record begins, its kind stands there. No record of CUPTI 13 is a quarter as long.
  std::vector<std::uint64_t> words(256);
  auto* const buffer = reinterpret_cast<std::uint8_t*>(words.data());
  const std::size_t num_bytes = words.size() * sizeof words[0];
  for (std::uint32_t kind = 1; kind < RecordSizes::kNumKinds; ++kind) {
    std::fill(words.begin(), words.end(), kind);
    std::uint8_t* record = nullptr;
    if (library.calls.cuptiActivityGetNextRecord(buffer, num_bytes, &record) != kSuccess || record != buffer) continue;
    if (library.calls.cuptiActivityGetNextRecord(buffer, num_bytes, &record) != kSuccess) continue;
    const std::ptrdiff_t step = record - buffer;
    if (step <= 0 || step % 8 != 0 || step >= static_cast<std::ptrdiff_t>(num_bytes)) continue;
    sizes.bytes[kind] = static_cast<std::uint32_t>(step);
  }
  return sizes;
}

Error unknown_kernels(const Library& library, const RecordSizes& sizes) {
  return Error(ErrorCode::kCannotCollect,
               fmt::format("{} (API version {}) writes kernels as {} bytes, a record that this version of spscope does "
                           "not know",
                           library.path, library.version, sizes.of(static_cast<std::uint32_t>(Kind::kKernel))),
               "use a newer version of spscope, or a CUPTI of CUDA 11.7 to 13.4");
}

Error silent(const Library& library) {
  return Error(ErrorCode::kCannotCollect,
               fmt::format("{} ({}) does not step over records", version_text(library.version), library.path),
               remedy(kUnknown, {}));
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

std::string note_of(std::string_view what, const Error& error) {
  std::string note = fmt::format("{}{}{}", what, what.empty() ? "" : ": ", error.what());
  if (!error.hint().empty()) note += fmt::format("; {}", error.hint());
  return note;
}

}  // namespace spscope::cupti
