// Library: NVIDIA's libcupti, opened at run time. It belongs to the process whose GPUs are watched and must be of the
// same CUDA as its runtime: two of them in one process would fight over the driver. So the one that is mapped already
// is taken, else the one that lies beside the process's runtime, and only then whichever the loader finds: most
// programs have the runtime linked into them, so the CUDA of the driver says which of these comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/base/error.h"
#include "collectors/cupti/records.h"

namespace spscope::cupti {

using CallbackFunction = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
using TimestampFunction = std::uint64_t (*)();
using RequestFunction = void (*)(std::uint8_t** buffer, std::size_t* num_bytes, std::size_t* max_records);
using CompleteFunction = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t num_bytes,
                                  std::size_t valid_bytes);

// CUpti_SubscriberParams.
struct SubscriberParameters {
  std::size_t struct_bytes = sizeof(SubscriberParameters);
  const char* name = nullptr;
  char* other_name = nullptr;  // who holds CUPTI, when the call fails with kMultipleSubscribers
  std::size_t other_name_bytes = 0;
};

struct Calls {
#define CUPTI_CALL(name, arguments) int(*name) arguments = nullptr;
#define CUPTI_CALL_SINCE CUPTI_CALL
#include "collectors/cupti/calls.def"
#undef CUPTI_CALL_SINCE
#undef CUPTI_CALL
};

// Results of CUPTI that have a remedy of their own; others have a text of CUPTI's.
inline constexpr int kSuccess = 0, kNotInitialized = 15, kHardwareBusy = 26, kVirtualized = 33,
                     kInsufficientPrivileges = 35, kMultipleSubscribers = 39, kVirtualizedPrivileges = 40,
                     kConfidentialComputing = 41, kMig = 43, kWsl = 45, kUnknown = 999;

struct Library {
  Calls calls = {};
  void* handle = nullptr;  // dlopen()'s
  std::string path;
  // 18 is 11.8, 27 is 12.9, 130000 is 13.0 and 130001 its update 1; 0: it did not tell, as 13.4 without a driver.
  std::uint32_t version = 0;
};

// Paths and names to try, in order, for a process that has these libraries mapped and a driver for this CUDA, as
// cuDriverGetVersion() has it: 12080 is 12.8, 0 that there is none.
std::vector<std::string> library_candidates(std::span<const std::string> mapped, int driver_version);
// Of this process; only the one at `path` unless it is "".
std::vector<std::string> library_candidates(const std::string& path);
// Only those that the program brings: mapped already, or beside its mapped runtime. A library that is opened by its
// bare name goes to the program, too, when it loads CUDA later, in place of its own.
std::vector<std::string> libraries_of_program();

// Opens libraries of a list, one after the other. They stay open: CUPTI cannot be unloaded safely.
class LibrarySearch {
 public:
  explicit LibrarySearch(std::vector<std::string> candidates) : candidates_(std::move(candidates)) {}
  // The next one that opens and has all calls, each once, however many names it has.
  std::optional<Library> next();
  // Why no other opened, as Error (kCannotCollect).
  Error none() const;

 private:
  std::vector<std::string> candidates_;
  std::size_t next_ = 0;
  std::vector<void*> opened_;
  std::string reasons_;
};
// The file that the loader took, also where `path` is a name that it found.
std::string file_of(const Library& library);
// Whether a result is of this library, and not of the machine or of another client of CUPTI.
bool another_library_may_do(int result);

// How long the library's records are (records.h); not known() when it does not say. Needs no GPU; CUPTI 13.4 answers
// only where there is a driver.
RecordSizes ask_record_sizes(const Library& library);
// Why nothing of it can be read: it writes kernels of a size that is not known, or does not tell sizes. Errors
// (kCannotCollect).
Error unknown_kernels(const Library& library, const RecordSizes& sizes);
Error silent(const Library& library);

// What a call's result means and what to do, as one Error (kCannotCollect). `other` is who holds CUPTI, "" when
// unknown.
Error failure(const Library& library, std::string_view call, int result, std::string_view other = {});

// What is not collected and why, with what to do, as one line.
std::string note_of(std::string_view what, const Error& error);

}  // namespace spscope::cupti
