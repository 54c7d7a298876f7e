// Library: NVIDIA's libnvidia-ml, opened at run time. It comes with the driver, so where there is none there is no GPU
// either.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/base/error.h"
#include "collectors/nvml/layouts.h"

namespace spscope::nvml {

struct Calls {
#define NVML_CALL(name, arguments) int(*name) arguments = nullptr;
#define NVML_CALL_SINCE NVML_CALL
#include "collectors/nvml/calls.def"
#undef NVML_CALL_SINCE
#undef NVML_CALL
  const char* (*nvmlErrorString)(int) = nullptr;  // the only one that gives no result
};

inline constexpr const char* kLibraryName = "libnvidia-ml.so.1";

// NVML, initialised; NVML counts who uses it, so others in the process are not disturbed.
class Library {
 public:
  // Throws Error (kCannotCollect), with the cause and what to do.
  explicit Library(const std::string& name = kLibraryName);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Calls& calls() const { return calls_; }
  // "driver 580.65.06"
  const std::string& driver() const { return driver_; }

 private:
  Calls calls_;
  std::string driver_ = "unknown driver";
};

// "nvmlInit_v2 failed with 9, Driver Not Loaded"
std::string failure_text(const Calls& calls, std::string_view call, int result);
// How to go on after a result; "" when only its text helps.
std::string_view remedy(int result);
// Both as one Error (kCannotCollect); `where` comes first: "GPU 0".
Error failure(const Calls& calls, std::string_view where, std::string_view call, int result);
// The error as one line: "what; what to do".
std::string note_of(const Error& error);

}  // namespace spscope::nvml
