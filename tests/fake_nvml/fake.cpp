// The entry points of libnvidia-ml that spscope calls, with the types of collectors/nvml/calls.def.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "collectors/nvml/layouts.h"
#include "tests/fake_nvml/control.h"
#include "tests/fake_nvml/settings.h"

namespace nvml = spscope::nvml;
using spscope::fake_nvml::read_settings;
using spscope::fake_nvml::Settings;

namespace {

using Lock = std::lock_guard<std::mutex>;

#ifdef SPSCOPE_FAKE_NVML_OLD
constexpr const char* kDriver = "525.147.05";
constexpr std::uint32_t kLastField = 185;
#else
constexpr const char* kDriver = "580.65.06";
constexpr std::uint32_t kLastField = 204;
#endif
constexpr int kUninitialized = 1;
constexpr int kMaxGpus = 16;
constexpr std::pair<int, const char*> kErrors[] = {{nvml::kSuccess, "Success"},
                                                   {nvml::kNotSupported, "Not Supported"},
                                                   {nvml::kNoPermission, "Insufficient Permissions"},
                                                   {nvml::kDriverNotLoaded, "Driver Not Loaded"},
                                                   {nvml::kGpuIsLost, "GPU is lost"},
                                                   {nvml::kVersionMismatch, "Driver/library version mismatch"}};

struct Fake {
  std::mutex mutex;
  Settings settings =
      read_settings(std::getenv("SPSCOPE_FAKE_NVML") == nullptr ? "" : std::getenv("SPSCOPE_FAKE_NVML"));
  int users = 0;
  std::map<std::string, long long> calls;       // by name, and by name@GPU
  std::map<std::string, std::size_t> num_read;  // values given out, by name@GPU
  int calls_of_lost = 0;
  char gpus[kMaxGpus] = {};  // handles point here
};

Fake& fake() {
  static Fake* const state = std::make_unique<Fake>().release();  // calls may come while the process ends
  return *state;
}

bool strikes(const std::string& call) {
  const auto found = fake().settings.failures.find(call);
  return found != fake().settings.failures.end() && (found->second.at == 0 || found->second.at == fake().calls[call]);
}

// Counts the call. Its planted result; nvml::kSuccess when it works.
int result_of(const std::string& call) {
  ++fake().calls[call];
  if (fake().users == 0 && call != "nvmlInit_v2") return kUninitialized;
  return strikes(call) ? fake().settings.failures.at(call).result : nvml::kSuccess;
}

int index_of(const void* gpu) {
  const std::ptrdiff_t index = static_cast<const char*>(gpu) - fake().gpus;
  return index >= 0 && index < fake().settings.gpus ? static_cast<int>(index) : -1;
}

std::string of_gpu(const std::string& name, int gpu) { return name + "@" + std::to_string(gpu); }

int result_of(const std::string& call, const void* gpu) {
  const int index = index_of(gpu);
  int result = result_of(call);
  if (result != nvml::kSuccess) return result;
  if (index < 0) return nvml::kInvalidArgument;
  result = result_of(of_gpu(call, index));
  if (result != nvml::kSuccess || index != fake().settings.lost_gpu) return result;
  return ++fake().calls_of_lost >= fake().settings.lost_at ? nvml::kGpuIsLost : nvml::kSuccess;
}

// The next value of a name; nvml::kNotSupported when there is none.
int next(const std::string& name, const void* gpu, std::uint64_t& value) {
  const std::string own = of_gpu(name, index_of(gpu));
  const auto& values = fake().settings.values;
  auto found = values.find(own);
  if (found == values.end()) found = values.find(name);
  if (found == values.end()) return nvml::kNotSupported;
  value = found->second[std::min(fake().num_read[own]++, found->second.size() - 1)];
  return nvml::kSuccess;
}

template <typename Value>
int give(const char* call, const std::string& name, const void* gpu, Value* to) {
  const Lock lock(fake().mutex);
  int result = result_of(call, gpu);
  std::uint64_t value = 0;
  if (result == nvml::kSuccess) result = next(name, gpu, value);
  if (result == nvml::kSuccess) *to = static_cast<Value>(value);
  return result;
}

}  // namespace

extern "C" {

void spscope_fake_nvml_reset(const char* settings) {
  const Lock lock(fake().mutex);
  fake().settings = read_settings(settings);
  fake().calls.clear();
  fake().num_read.clear();
  fake().calls_of_lost = 0;
}

int spscope_fake_nvml_users() {
  const Lock lock(fake().mutex);
  return fake().users;
}

long long spscope_fake_nvml_calls(const char* call) {
  const Lock lock(fake().mutex);
  return fake().calls[call];
}

const char* nvmlErrorString(int result) {
  const auto* const found = std::ranges::find(kErrors, result, &std::pair<int, const char*>::first);
  return found == std::end(kErrors) ? "Unknown Error" : found->second;
}

int nvmlInit_v2() {
  while (!fake().settings.gate.empty() && !std::filesystem::exists(fake().settings.gate))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Lock lock(fake().mutex);
  const int result = result_of("nvmlInit_v2");
  if (result == nvml::kSuccess) ++fake().users;
  return result;
}

int nvmlShutdown() {
  const Lock lock(fake().mutex);
  const int result = result_of("nvmlShutdown");
  if (result == nvml::kSuccess) --fake().users;
  return result;
}

int nvmlSystemGetDriverVersion(char* version, std::uint32_t length) {
  const Lock lock(fake().mutex);
  const int result = result_of("nvmlSystemGetDriverVersion");
  if (result == nvml::kSuccess) std::snprintf(version, length, "%s", kDriver);
  return result;
}

int nvmlDeviceGetCount_v2(std::uint32_t* count) {
  const Lock lock(fake().mutex);
  *count = static_cast<std::uint32_t>(fake().settings.gpus);
  return result_of("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, void** gpu) {
  const Lock lock(fake().mutex);
  if (index >= static_cast<std::uint32_t>(fake().settings.gpus)) return nvml::kInvalidArgument;
  *gpu = &fake().gpus[index];
  return result_of("nvmlDeviceGetHandleByIndex_v2", *gpu);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** gpu) {
  const Lock lock(fake().mutex);
  unsigned domain = 0, bus = 0, device = 0;
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3) return nvml::kInvalidArgument;
  if (bus < 1 || bus > static_cast<unsigned>(fake().settings.gpus)) return nvml::kNotFound;
  *gpu = &fake().gpus[bus - 1];
  return result_of("nvmlDeviceGetHandleByPciBusId_v2", *gpu);
}

int nvmlDeviceGetMigMode(void* gpu, std::uint32_t* now, std::uint32_t* pending) {
  const Lock lock(fake().mutex);
  *now = *pending = index_of(gpu) == fake().settings.mig_gpu ? 1 : 0;
  return result_of("nvmlDeviceGetMigMode", gpu);
}

int nvmlDeviceGetUtilizationRates(void* gpu, nvml::UseRates* rates) {
  const Lock lock(fake().mutex);
  int result = result_of("nvmlDeviceGetUtilizationRates", gpu);
  std::uint64_t busy = 0, memory = 0;
  if (result == nvml::kSuccess) result = next("utilization", gpu, busy);
  if (result == nvml::kSuccess) result = next("memory_utilization", gpu, memory);
  if (result == nvml::kSuccess) *rates = {static_cast<std::uint32_t>(busy), static_cast<std::uint32_t>(memory)};
  return result;
}

int nvmlDeviceGetClockInfo(void* gpu, std::uint32_t clock, std::uint32_t* mhz) {
  if (clock != nvml::kSmClock && clock != nvml::kMemoryClock) return nvml::kInvalidArgument;
  return give("nvmlDeviceGetClockInfo", clock == nvml::kSmClock ? "sm_clock" : "memory_clock", gpu, mhz);
}

int nvmlDeviceGetPowerUsage(void* gpu, std::uint32_t* milliwatts) {
  return give("nvmlDeviceGetPowerUsage", "power", gpu, milliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(void* gpu, std::uint64_t* millijoules) {
  return give("nvmlDeviceGetTotalEnergyConsumption", "energy", gpu, millijoules);
}

int nvmlDeviceGetTemperature(void* gpu, std::uint32_t sensor, std::uint32_t* celsius) {
  if (sensor != nvml::kTemperatureOfGpu) return nvml::kInvalidArgument;
  return give("nvmlDeviceGetTemperature", "temperature", gpu, celsius);
}

int nvmlDeviceGetMemoryInfo(void* gpu, nvml::Memory* memory) {
  *memory = {.total_bytes = std::uint64_t{80} << 30};
  return give("nvmlDeviceGetMemoryInfo", "memory_used", gpu, &memory->used_bytes);
}

int nvmlDeviceGetPcieThroughput(void* gpu, std::uint32_t direction, std::uint32_t* kb_per_s) {
  return give("nvmlDeviceGetPcieThroughput", direction == nvml::kPcieSent ? "pcie_sent" : "pcie_received", gpu,
              kb_per_s);
}

#ifndef SPSCOPE_FAKE_NVML_OLD
int nvmlDeviceGetCurrentClocksEventReasons(void* gpu, std::uint64_t* reasons) {
  return give("nvmlDeviceGetCurrentClocksEventReasons", "limits", gpu, reasons);
}
#endif

int nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, std::uint64_t* reasons) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", "limits", gpu, reasons);
}

int nvmlDeviceGetFieldValues(void* gpu, int count, nvml::FieldValue* values) {
  const Lock lock(fake().mutex);
  const int result = result_of("nvmlDeviceGetFieldValues", gpu);
  if (result != nvml::kSuccess) return result;
  for (nvml::FieldValue* field = values; field < values + count; ++field) {
    const std::string name = "field." + std::to_string(field->field);
    const bool of_links = field->field == 138 || field->field == 139 || field->field == 202 || field->field == 204;
    field->result = result_of(of_gpu(name, index_of(gpu)));
    if (field->result == nvml::kSuccess &&
        (field->field > kLastField || field->scope != (of_links ? nvml::kAllLinks : 0)))
      field->result = nvml::kNotSupported;
    // Power and PCIe's bytes are numbers of 32 bits; above them lies what was there before.
    field->type = of_links ? 3 : nvml::kTypeUnsigned;
    field->value = ~std::uint64_t{0};
    std::uint64_t value = 0;
    if (field->result == nvml::kSuccess) field->result = next(name, gpu, value);
    if (field->result == nvml::kSuccess) std::memcpy(&field->value, &value, of_links ? sizeof value : 4);
  }
  return nvml::kSuccess;
}

}  // extern "C"
