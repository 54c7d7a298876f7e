#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "backend/config/environment.h"
#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/driver.h"
#include "bench/gpu/all_checks.h"

namespace spscope::gpu_check {

std::span<const Check> checks() {
  static constexpr Check rows[] = {
#define GPU_CHECK(name, cost_s, result, summary) \
  {name, cost_s, [](const CheckContext& context) -> CheckResult { return result; }, summary},
#include "bench/gpu/checks.def"
  };
  return rows;
}

const Check* find_check(std::string_view name) {
  const auto found = std::ranges::find(checks(), name, &Check::name);
  return found == checks().end() ? nullptr : &*found;
}

namespace {

// "GPU-0123abcd-0123-0123-0123-0123456789ab".
std::string uuid_text(const std::string& bytes) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        static_cast<unsigned char>(bytes[i]));
  return text;
}

}  // namespace

Machine read_machine() {
  Machine machine;
  const Problem& missing = cuda::driver_missing();
  if (!missing.message.empty()) {
    machine.missing = missing.message + "; " + missing.hint;
    return machine;
  }
  const cuda::GpuFacts gpu = cuda::gpus().front();
  const int version = cuda::driver().version;
  machine.gpu = gpu.name;
  machine.capability = fmt::format("{}.{}", gpu.major, gpu.minor);
  machine.bus_id = gpu.bus_id;
  machine.uuid = uuid_text(gpu.uuid);
  machine.driver = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  machine.memory_bytes = gpu.memory_bytes;
  machine.num_sms = gpu.num_sms;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  machine.fake = library != nullptr && dlsym(library, "spscope_fake_cuda_reset") != nullptr;
  return machine;
}

// The driver reads the variable only once in a process.
void keep_first_gpu(char** arguments) {
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  if (!cuda::driver_missing().message.empty() || cuda::gpus().size() < 2) return;
  const std::string uuid = uuid_text(cuda::gpus().front().uuid);
  if (visible_gpus() == uuid) return;
  setenv(kVisible, uuid.c_str(), 1);
  execv("/proc/self/exe", arguments);
  throw Error(ErrorCode::kUnavailable, fmt::format("gpu-check cannot start itself again: {}", std::strerror(errno)),
              fmt::format("set {}={}", kVisible, uuid));
}

namespace {

bool misses(const CheckResult& result, bool fake) {
  return !fake && !std::ranges::all_of(result.figures, &Figure::holds);
}

std::string limit_text(const Figure& figure) {
  return fmt::format("{} {:g}", figure.bound == Bound::kAtLeast ? "at least" : "at most", figure.limit);
}

}  // namespace

std::string_view status_of(const CheckResult& result, bool fake) {
  if (!result.faults.empty() || misses(result, fake)) return "failed";
  return result.skipped.empty() ? "passed" : "skipped";
}

std::string reason_of(const CheckResult& result, bool fake) {
  std::string reason;
  const auto add = [&](const std::string& text) { reason += (reason.empty() ? "" : "; ") + text; };
  for (const std::string& fault : result.faults) add(fault);
  for (const Figure& figure : result.figures)
    if (!fake && !figure.holds())
      add(fmt::format("{} is {:.4g}{}, limit {}", figure.name, figure.value,
                      figure.unit.empty() ? "" : " " + figure.unit, limit_text(figure)));
  if (!result.skipped.empty()) add(result.skipped);
  return reason;
}

Json json_of(const CheckResult& result, bool fake) {
  Json figures = Json::array();
  for (const Figure& figure : result.figures) {
    Json row = {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
    if (figure.bound != Bound::kNone) {
      row["limit"] = limit_text(figure);
      row["verdict"] = fake ? "not compared: fake device" : figure.holds() ? "holds" : "missed";
    }
    figures.push_back(std::move(row));
  }
  return {{"status", status_of(result, fake)},
          {"reason", reason_of(result, fake)},
          {"figures", figures},
          {"facts", Json(result.facts)}};
}

}  // namespace spscope::gpu_check
