// What is read of a GPU, and by which call. Several sources may give the same quantity: the first that a GPU and its
// driver have is taken.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collectors/nvml/library.h"

namespace spscope::nvml {

// How samples come from what NVML gives.
enum class Form {
  kValue,       // as it is
  kSinceStart,  // a total, less what it was at first
  kRate,        // a total: what was added since the last sample, by second
};

struct Reading {
  int result = kSuccess;
  std::uint64_t value = 0;
  std::uint64_t last = UINT64_MAX;  // a total begins with 0 again after it
};

struct Source {
  std::string_view quantity;  // as people see it, with its unit; the same in rows that give the same
  Form form = Form::kValue;
  double scale = 1;       // from what NVML gives to the unit
  std::string_view call;  // that is made
  // Null: a field, read with the other fields of the GPU at once.
  Reading (*read)(const Calls& calls, void* gpu) = nullptr;
  std::uint32_t field = 0, scope = 0;
  bool slow = false;  // NVML watches for 20 ms and blocks the caller
};

// Rows of one quantity stand together, the best first.
std::span<const Source> sources();

// Of a field that was asked for.
Reading reading_of(const FieldValue& field);

// Why clocks are lower than they could be: bits, of which any may be set.
Reading read_clock_limits(const Calls& calls, void* gpu);
// "power cap" for 0x4; "reason 0x200" for a bit that NVML got later than this program.
std::string clock_limit_name(std::uint64_t bit);

}  // namespace spscope::nvml
