// What libnvidia-ml takes and gives, by our own declarations, so that building needs no header of NVIDIA's. The numbers
// are NVML's.
#pragma once

#include <cstdint>

namespace spscope::nvml {

// nvmlReturn_t: those that are told apart.
inline constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNoPermission = 4, kNotFound = 6,
                     kDriverNotLoaded = 9, kLibraryNotFound = 12, kFunctionNotFound = 13, kGpuIsLost = 15,
                     kResetRequired = 16, kOperatingSystem = 17, kVersionMismatch = 18, kUnknown = 999;

inline constexpr std::uint32_t kSmClock = 1, kMemoryClock = 2;      // nvmlClockType_t
inline constexpr std::uint32_t kTemperatureOfGpu = 0;               // nvmlTemperatureSensors_t
inline constexpr std::uint32_t kPcieSent = 0, kPcieReceived = 1;    // nvmlPcieUtilCounter_t
inline constexpr std::uint32_t kAllLinks = 0xffffffffu;             // scope of a field: the sum over all NVLinks
inline constexpr std::uint32_t kTypeDouble = 0, kTypeUnsigned = 1;  // nvmlValueType_t

// nvmlUtilization_t: percent of the driver's last sample period, 1/6 s to 1 s.
struct UseRates {
  std::uint32_t gpu = 0, memory = 0;
};
static_assert(sizeof(UseRates) == 8);

// nvmlMemory_t
struct Memory {
  std::uint64_t total_bytes = 0, free_bytes = 0, used_bytes = 0;  // used: with what the driver keeps for itself
};
static_assert(sizeof(Memory) == 24);

// nvmlFieldValue_t. `value` holds an unsigned number of the type's width in its low bytes.
struct FieldValue {
  std::uint32_t field = 0, scope = 0;
  std::int64_t time_us = 0, latency_us = 0;
  std::uint32_t type = 0;
  int result = 0;
  std::uint64_t value = 0;
};
static_assert(sizeof(FieldValue) == 40);

}  // namespace spscope::nvml
