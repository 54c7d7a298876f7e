// The calls of CUDA that are recorded (api_calls.def), as a table.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectors/cupti/records.h"

namespace spscope::cupti {

struct ApiCall {
  Kind domain;
  std::uint32_t id;       // in its domain
  std::string_view name;  // "cudaLaunchKernel_v7000", as CUPTI has it
  bool of_13 = false;     // older ones do not know it
};

inline constexpr ApiCall kApiCalls[] = {
#define API_CALL(domain, name, id) {Kind::domain, id, #name},
#define API_CALL_OF_13(domain, name, id) {Kind::domain, id, #name, true},
#include "collectors/cupti/api_calls.def"
#undef API_CALL
};

}  // namespace spscope::cupti
