// Our declarations of what NVML takes and gives, compared with NVIDIA's header by the compiler.
#include <gtest/gtest.h>
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "collectors/nvml/library.h"
#include "collectors/nvml/quantities.h"

// Drivers keep calls that the header calls deprecated, and older ones have no others.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace spscope::nvml {
namespace {

static_assert(kSuccess == NVML_SUCCESS && kInvalidArgument == NVML_ERROR_INVALID_ARGUMENT);
static_assert(kNotSupported == NVML_ERROR_NOT_SUPPORTED && kNoPermission == NVML_ERROR_NO_PERMISSION);
static_assert(kNotFound == NVML_ERROR_NOT_FOUND && kDriverNotLoaded == NVML_ERROR_DRIVER_NOT_LOADED);
static_assert(kLibraryNotFound == NVML_ERROR_LIBRARY_NOT_FOUND && kUnknown == NVML_ERROR_UNKNOWN);
static_assert(kFunctionNotFound == NVML_ERROR_FUNCTION_NOT_FOUND && kGpuIsLost == NVML_ERROR_GPU_IS_LOST);
static_assert(kResetRequired == NVML_ERROR_RESET_REQUIRED && kOperatingSystem == NVML_ERROR_OPERATING_SYSTEM);
static_assert(kVersionMismatch == NVML_ERROR_LIB_RM_VERSION_MISMATCH);

static_assert(kSmClock == NVML_CLOCK_SM && kMemoryClock == NVML_CLOCK_MEM && kTemperatureOfGpu == NVML_TEMPERATURE_GPU);
static_assert(kPcieSent == NVML_PCIE_UTIL_TX_BYTES && kPcieReceived == NVML_PCIE_UTIL_RX_BYTES);
static_assert(kTypeDouble == NVML_VALUE_TYPE_DOUBLE && kTypeUnsigned == NVML_VALUE_TYPE_UNSIGNED_INT);

// A member of ours is at the place and of the size of NVML's.
#define SAME(Ours, ours, Theirs, theirs) \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) && sizeof(Ours::ours) == sizeof(Theirs::theirs))
static_assert(sizeof(UseRates) == sizeof(nvmlUtilization_t));
SAME(UseRates, gpu, nvmlUtilization_t, gpu);
SAME(UseRates, memory, nvmlUtilization_t, memory);
static_assert(sizeof(Memory) == sizeof(nvmlMemory_t));
SAME(Memory, total_bytes, nvmlMemory_t, total);
SAME(Memory, free_bytes, nvmlMemory_t, free);
SAME(Memory, used_bytes, nvmlMemory_t, used);
static_assert(sizeof(FieldValue) == sizeof(nvmlFieldValue_t));
SAME(FieldValue, field, nvmlFieldValue_t, fieldId);
SAME(FieldValue, scope, nvmlFieldValue_t, scopeId);
SAME(FieldValue, time_us, nvmlFieldValue_t, timestamp);
SAME(FieldValue, latency_us, nvmlFieldValue_t, latencyUsec);
SAME(FieldValue, type, nvmlFieldValue_t, valueType);
SAME(FieldValue, result, nvmlFieldValue_t, nvmlReturn);
SAME(FieldValue, value, nvmlFieldValue_t, value);

// As many arguments, each a pointer or a number of the same size: what the calling convention sees.
template <typename A, typename B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <typename A, typename B>
struct CalledAlike : std::false_type {};
template <typename... A, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct CalledAlike<int (*)(A...), nvmlReturn_t (*)(B...)>
    : std::bool_constant<(passed_alike<A, B> && ...)> {
};
#define NVML_CALL(name, arguments) static_assert(CalledAlike<int(*) arguments, decltype(&::name)>::value, #name);
#define NVML_CALL_SINCE NVML_CALL
#include "collectors/nvml/calls.def"
static_assert(std::is_same_v<decltype(nvmlErrorString(NVML_SUCCESS)), const char*>);

bool asks_for(std::string_view quantity, std::uint32_t field) {
  for (const Source& source : sources())
    if (source.quantity == quantity && source.read == nullptr && source.field == field) return true;
  return false;
}

TEST(NvmlHeader, FieldsHaveItsNumbers) {
  EXPECT_TRUE(asks_for("power (W)", NVML_FI_DEV_POWER_INSTANT));
  EXPECT_TRUE(asks_for("NVLink sent (GB/s)", NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX));
  EXPECT_TRUE(asks_for("NVLink received (GB/s)", NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX));
  EXPECT_TRUE(asks_for("NVLink sent (GB/s)", NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES));
  EXPECT_TRUE(asks_for("NVLink received (GB/s)", NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES));
  EXPECT_TRUE(asks_for("PCIe sent (GB/s)", NVML_FI_DEV_PCIE_COUNT_TX_BYTES));
  EXPECT_TRUE(asks_for("PCIe received (GB/s)", NVML_FI_DEV_PCIE_COUNT_RX_BYTES));
}

TEST(NvmlHeader, ReasonsOfLowClocksHaveItsBits) {
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonGpuIdle), "idle GPU");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonApplicationsClocksSetting), "clocks that were set");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonSwPowerCap), "power cap");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonHwSlowdown), "hardware slowdown");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonSyncBoost), "sync boost");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonSwThermalSlowdown), "software thermal slowdown");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonHwThermalSlowdown), "hardware thermal slowdown");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonHwPowerBrakeSlowdown), "hardware power brake");
  EXPECT_EQ(clock_limit_name(nvmlClocksThrottleReasonDisplayClockSetting), "display clocks");
}

}  // namespace
}  // namespace spscope::nvml
