#include "backend/execute/calibrate/calibrate.h"
#include "backend/base/cores.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr double kKernelShare = 0.6;  // of the time to be spent

double memory_gib() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
}

}  // namespace

Calibration calibrate(const CalibrateOptions& options) {
  const auto can = [](const Executor& row) { return row.calibrate != nullptr; };
  return row_that_can(options.device, "calibrated", can).calibrate(options);
}

Calibration calibrate_cpu(const CalibrateOptions& options) {
  CalibrateOptions part = options;
  part.seconds = kKernelShare * options.seconds;
  const KernelCalibration kernels = calibrate_kernels(part);
  part.seconds = options.seconds - part.seconds;
  const NetworkCalibration network = calibrate_network(part);
  if (options.on_phase) options.on_phase("memory");
  Calibration result;
  result.attend = kernels.attend;
  result.move = kernels.move;
  result.attention = kernels.attention;
  result.link = network.link;
  result.unmeasured = network.unmeasured;
  result.fma_gflop_per_s = kernels.fma_gflop_per_s;
  result.copy_gbps = kernels::measure_copy_gbps();
  ClusterPreset& preset = result.preset;
  preset.name = "local";
  preset.network = network.network;
  preset.cost = kernels.cost;
  preset.device.memory_gbps = 2 * result.copy_gbps;
  preset.device.memory_gib = memory_gib() / usable_cores();
  preset.sources = kernels.sources;
  preset.sources.insert(network.sources.begin(), network.sources.end());
  preset.sources["device.memory_gbps"] = "measured: a copy of 128 MiB by one core, bytes read and bytes written";
  preset.sources["device.memory_gib"] = "memory of the machine over its cores: one rank a core";
  return result;
}

}  // namespace spscope
