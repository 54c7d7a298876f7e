// calibrate(): measures this machine and makes the cluster profile that `simulate` and `project` read: what the kernels
// of one rank cost, and what the network between two of them carries.
//
// On the CPU everything is measured by running small plans on the thread executor, so that a number means exactly what
// the cost model and the schedule take it for. On a GPU the compute ops of the same plans run on the device alone
// (execute/cuda/calibrate.h). A point is the median of many runs; runs of all points take turns, so that a
// neighbour who comes and goes disturbs a few runs of every point and not all runs of one. How well the fitted model
// describes its points is part of the result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/config/cluster.h"
#include "backend/execute/calibrate/calibrate_fit.h"
#include "backend/execute/execute.h"

namespace spscope {

struct CalibrateOptions {
  std::string device = "cpu";   // as run.device
  Dtype dtype = Dtype::kFp32;   // of q, k, v and o in memory
  double seconds = 12;          // how long measuring should take; every point is met three times at least
  std::int32_t max_tokens = 0;  // of the longest attention, >= 128; 0: 2048, on a GPU 8192
  // Of the largest exchange, one way; >= 16 KiB, the smallest. 0: 16 MiB, on a GPU 128 MiB or a share of its memory.
  std::int64_t max_message_bytes = 0;
  // SMs of a GPU that communication takes while it runs; 0: none, as copy engines; absent: an eighth, 16 at most.
  std::optional<int> comm_sms;
  const std::atomic<bool>* interrupt = nullptr;          // set: throws Error(kInterrupted)
  std::function<void(std::string_view phase)> on_phase;  // before each part
};

// Name of a number of a cluster file ("network.link_gbps") -> how it was found.
using NumberSources = std::map<std::string, std::string>;

// What one attention took whose rows of blocks have equally many active blocks, chosen at random.
struct AttentionTime {
  std::int32_t tokens = 0;
  int heads = 1, head_dim = 0;
  std::int32_t block = 0;  // tokens
  double density = 0;      // of the mask, 0 to 1
  Measured ms;
};

struct KernelCalibration {
  KernelCostProfile cost;
  std::vector<AttentionTime> attention;
  FitQuality attend, move, gemm;  // gemm has no samples where gemm_ns_per_flop is modelled
  double fma_gflop_per_s = 0;     // peak of one core, taken before and after the kernels
  NumberSources sources;
};

struct NetworkCalibration {
  NetworkProfile network;
  FitQuality link;
  NumberSources sources;
  std::vector<std::string> unmeasured;  // numbers that could not be told from noise; their values mean nothing
};

struct Calibration {
  ClusterPreset preset;  // "local"
  FitQuality attend, move, link;
  std::vector<AttentionTime> attention;  // what `attend` is fitted to
  // Of a number of the preset: the distance of the quartiles of what it was measured by, over the number; of a fitted
  // one the median residual of the fit.
  std::map<std::string, double> spreads;
  // From the end of a launch to the begin of the next one that was enqueued before it: of a GPU, part of
  // attend_ns_per_launch.
  double launch_gap_ns = 0;
  std::vector<std::string> unmeasured;        // of the network, as above: such a preset is no profile
  double fma_gflop_per_s = 0, copy_gbps = 0;  // of one core or GPU (fma: 0); copied bytes are counted once
  std::vector<DeviceFact> device;             // of the GPU that was measured; empty: the CPU
};

// One rank, computing alone.
KernelCalibration calibrate_kernels(const CalibrateOptions& options = {});

// Two ranks. Latency and bandwidth are those of an exchange in both directions at once, from when the slower rank could
// post it until the op that needs the data begins, wake-ups included: what schedule() puts between these two.
NetworkCalibration calibrate_network(const CalibrateOptions& options = {});

// All of it, and the memory of the machine: a row of executors.def for the CPU.
Calibration calibrate_cpu(const CalibrateOptions& options);

// By the first available row of the device that has `calibrate`. Throws Error: kCannotExecute when there is none, or
// why it is not available; what fails on the device; kInterrupted.
Calibration calibrate(const CalibrateOptions& options = {});

}  // namespace spscope
