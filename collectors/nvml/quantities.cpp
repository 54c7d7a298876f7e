#include "collectors/nvml/quantities.h"

#include <fmt/format.h>

#include <array>

namespace spscope::nvml {
namespace {

// nvmlClocksEventReasons, in the words of nvidia-smi.
constexpr std::array<std::string_view, 9> kClockLimits = {"idle GPU",
                                                          "clocks that were set",
                                                          "power cap",
                                                          "hardware slowdown",
                                                          "sync boost",
                                                          "software thermal slowdown",
                                                          "hardware thermal slowdown",
                                                          "hardware power brake",
                                                          "display clocks"};

template <typename Value>
Reading reading(int result, Value value) {
  return {.result = result, .value = static_cast<std::uint64_t>(value)};
}

template <std::uint32_t UseRates::*part>
Reading read_utilization(const Calls& calls, void* gpu) {
  UseRates value;
  const int result = calls.nvmlDeviceGetUtilizationRates(gpu, &value);
  return reading(result, value.*part);
}

template <std::uint32_t clock>
Reading read_clock(const Calls& calls, void* gpu) {
  std::uint32_t value = 0;
  const int result = calls.nvmlDeviceGetClockInfo(gpu, clock, &value);
  return reading(result, value);
}

Reading read_power(const Calls& calls, void* gpu) {
  std::uint32_t value = 0;
  const int result = calls.nvmlDeviceGetPowerUsage(gpu, &value);
  return reading(result, value);
}

Reading read_energy(const Calls& calls, void* gpu) {
  std::uint64_t value = 0;
  const int result = calls.nvmlDeviceGetTotalEnergyConsumption(gpu, &value);
  return reading(result, value);
}

Reading read_temperature(const Calls& calls, void* gpu) {
  std::uint32_t value = 0;
  const int result = calls.nvmlDeviceGetTemperature(gpu, kTemperatureOfGpu, &value);
  return reading(result, value);
}

Reading read_memory(const Calls& calls, void* gpu) {
  Memory value;
  const int result = calls.nvmlDeviceGetMemoryInfo(gpu, &value);
  return reading(result, value.used_bytes);
}

template <std::uint32_t direction>
Reading read_pcie(const Calls& calls, void* gpu) {
  std::uint32_t value = 0;
  const int result = calls.nvmlDeviceGetPcieThroughput(gpu, direction, &value);
  return reading(result, value);
}

constexpr double kKibToGb = 1024e-9;

Source field(std::string_view quantity, Form form, double scale, std::uint32_t id, std::uint32_t scope = 0) {
  return {quantity, form, scale, "nvmlDeviceGetFieldValues", nullptr, id, scope};
}

// Fields by their numbers: 186 NVML_FI_DEV_POWER_INSTANT (R535); 138 and 139 NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and
// _RX; 202 and 204 NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES and _RCV_BYTES, of NVLink 5; 197 and 198
// NVML_FI_DEV_PCIE_COUNT_TX_BYTES and _RX_BYTES (R555).
const std::array kSources = {
    Source{"utilization (%)", Form::kValue, 1, "nvmlDeviceGetUtilizationRates", read_utilization<&UseRates::gpu>},
    Source{"memory utilization (%)", Form::kValue, 1, "nvmlDeviceGetUtilizationRates",
           read_utilization<&UseRates::memory>},
    Source{"SM clock (MHz)", Form::kValue, 1, "nvmlDeviceGetClockInfo", read_clock<kSmClock>},
    Source{"memory clock (MHz)", Form::kValue, 1, "nvmlDeviceGetClockInfo", read_clock<kMemoryClock>},
    // From Ampere on, but for GA100, the call gives the mean of a second.
    field("power (W)", Form::kValue, 1e-3, 186),
    Source{"power (W)", Form::kValue, 1e-3, "nvmlDeviceGetPowerUsage", read_power},
    Source{"energy (J)", Form::kSinceStart, 1e-3, "nvmlDeviceGetTotalEnergyConsumption", read_energy},
    Source{"temperature (C)", Form::kValue, 1, "nvmlDeviceGetTemperature", read_temperature},
    Source{"memory used (GB)", Form::kValue, 1e-9, "nvmlDeviceGetMemoryInfo", read_memory},
    field("NVLink sent (GB/s)", Form::kRate, kKibToGb, 138, kAllLinks),
    field("NVLink sent (GB/s)", Form::kRate, 1e-9, 202, kAllLinks),
    field("NVLink received (GB/s)", Form::kRate, kKibToGb, 139, kAllLinks),
    field("NVLink received (GB/s)", Form::kRate, 1e-9, 204, kAllLinks),
    field("PCIe sent (GB/s)", Form::kRate, 1e-9, 197),
    Source{"PCIe sent (GB/s)", Form::kValue, 1e-6, "nvmlDeviceGetPcieThroughput", read_pcie<kPcieSent>, 0, 0, true},
    field("PCIe received (GB/s)", Form::kRate, 1e-9, 198),
    Source{"PCIe received (GB/s)", Form::kValue, 1e-6, "nvmlDeviceGetPcieThroughput", read_pcie<kPcieReceived>, 0, 0,
           true},
};

}  // namespace

std::span<const Source> sources() { return kSources; }

Reading reading_of(const FieldValue& field) {
  Reading reading = {.result = field.result, .value = field.value};
  if (field.type == kTypeUnsigned) reading.last = UINT32_MAX, reading.value &= UINT32_MAX;
  if (field.type == kTypeDouble && field.result == kSuccess) reading.result = kNotSupported;  // none of ours is
  return reading;
}

Reading read_clock_limits(const Calls& calls, void* gpu) {
  const auto call = calls.nvmlDeviceGetCurrentClocksEventReasons != nullptr
                        ? calls.nvmlDeviceGetCurrentClocksEventReasons
                        : calls.nvmlDeviceGetCurrentClocksThrottleReasons;
  std::uint64_t bits = 0;
  const int result = call(gpu, &bits);
  return reading(result, bits);
}

std::string clock_limit_name(std::uint64_t bit) {
  for (std::size_t i = 0; i < kClockLimits.size(); ++i)
    if (bit == std::uint64_t{1} << i) return std::string(kClockLimits[i]);
  return fmt::format("reason {:#x}", bit);
}

}  // namespace spscope::nvml
