#include "backend/execute/cuda/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/median.h"
#include "backend/config/environment.h"
#include "backend/execute/cuda/calibrate_copies.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/timed_experiment.h"
#include "kernels/cuda/select.h"

namespace spscope::cuda {
namespace {

// Of the time to be spent.
constexpr double kAttendShare = 0.4, kMoveShare = 0.15, kSlowdownShare = 0.15, kPeerShare = 0.15, kRestShare = 0.05;
// Rows enough for several rounds of blocks on every SM of the largest GPUs.
constexpr int kHeads = 16;
constexpr std::int32_t kTokens = 8192, kLargestBlock = 128;
constexpr std::int32_t kSlowdownBlock = 64,
                       kSlowdownHeadDim = 128;  // the most blocks of the grid, the most of their work
// Communication libraries take some 6 to 24 of the 132 SMs of an H100.
constexpr int kMostCommSms = 16, kShareOfSms = 8;
constexpr std::int64_t kMessageBytes = std::int64_t{128} << 20, kShareOfMemory = 32;
constexpr int kHeadDimMultiple = 32;  // of the kernels of tensor cores

class GpuCalibration {
 public:
  explicit GpuCalibration(const CalibrateOptions& options)
      : options_(options),
        sizes_(sizes_of(options)),
        gpu_(Gpu::of(0)),
        gate_(gpu_.context()),
        bench_{gpu_, gate_, options.interrupt},
        comm_sms_(comm_sms_of(options, gpu_.facts())) {}

  Calibration run();

 private:
  static CalibrateSizes sizes_of(const CalibrateOptions& options) {
    // Whole blocks, also in the shortest.
    const std::int32_t shortest =
        std::max(1, (options.max_tokens > 0 ? options.max_tokens : kTokens) / kTokensFactor / kLargestBlock) *
        kLargestBlock;
    const std::int32_t longest =
        options.max_tokens > 0 && options.max_tokens < kTokensFactor * shortest ? shortest : kTokensFactor * shortest;
    return {.heads = kHeads,
            .blocks = {kLargestBlock / 2, kLargestBlock},
            .min_tokens = shortest,
            .max_tokens = longest,
            .long_tokens = 2 * longest};
  }
  static int comm_sms_of(const CalibrateOptions& options, const GpuFacts& gpu);

  template <typename Part>
  void measure(std::string_view part, const Part& work);
  void measure_kernels();
  void measure_communication();
  void measure_host();
  void describe();
  std::int64_t message_bytes() const {
    if (options_.max_message_bytes > 0) return options_.max_message_bytes;
    return std::min(kMessageBytes, gpu_.facts().memory_bytes / kShareOfMemory);
  }
  void set(const std::string& number, std::string source, NumberOrigin origin = NumberOrigin::kMeasured) {
    result_.preset.sources[number] = std::move(source);
    result_.preset.origins[number] = origin;
  }
  // The same, with the spread of what it was measured by.
  void set(const std::string& number, const std::string& source, double spread,
           NumberOrigin origin = NumberOrigin::kMeasured) {
    set(number, fmt::format("{}; half of the rounds within {:.1f} %", source, 100 * spread), origin);
    result_.spreads[number] = spread;
  }
  void set_fitted(const std::string& number, std::string source, const FitQuality& quality,
                  NumberOrigin origin = NumberOrigin::kMeasured) {
    set(number, std::move(source), origin);
    result_.spreads[number] = quality.median_relative_residual;
  }

  const CalibrateOptions& options_;
  const CalibrateSizes sizes_;
  Gpu& gpu_;
  Gate gate_;
  const Bench bench_;
  const int comm_sms_;
  Calibration result_;
};

int GpuCalibration::comm_sms_of(const CalibrateOptions& options, const GpuFacts& gpu) {
  if (!options.comm_sms) return std::clamp(gpu.num_sms / kShareOfSms, 1, kMostCommSms);
  if (*options.comm_sms >= 0 && *options.comm_sms < gpu.num_sms) return *options.comm_sms;
  throw Error(ErrorCode::kUsage, fmt::format("communication cannot take {} of {} SMs", *options.comm_sms, gpu.num_sms),
              "give --comm-sms from 0, for copy engines, to what leaves SMs for attention");
}

// What fails says in which part, and how less would be measured.
template <typename Part>
void GpuCalibration::measure(std::string_view part, const Part& work) {
  if (options_.on_phase) options_.on_phase(part);
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInterrupted) throw;
    const bool is_full = error.code() == ErrorCode::kDeviceMemory;
    throw Error(error.code(), fmt::format("calibrating {}, {}: {}", gpu_.facts().name, part, error.what()),
                is_full ? "other processes may use the GPU (`nvidia-smi`); a smaller --tokens takes less memory"
                        : error.hint());
  }
}

// Nanoseconds of a byte that copies of the series move, each read and written.
Measured copy_ns_per_byte(const Series& moves) {
  std::vector<double> ns;
  for (const Point& point : moves.points) {
    const Plan& plan = moves.experiments[point.experiment].plan;
    if (plan.kind_of(plan.ops[static_cast<std::size_t>(point.op)]) == PostKind::kCopy)
      for (const double run_ns : point.runs_ns) ns.push_back(run_ns / (point.terms.front() / 2));
  }
  return measured(std::move(ns));
}

void GpuCalibration::measure_kernels() {
  KernelCostProfile& cost = result_.preset.cost;
  cost.provenance = Provenance::kMeasured;
  measure("attention kernel", [&] {
    Series attends = attend_series(sizes_, options_.dtype);
    run_series(attends, kAttendShare * options_.seconds, bench_);
    const LinearFit fit = fit_series(attends);
    cost.attend_ns_per_launch = fit.coefficients[0];
    cost.attend_ns_per_row = fit.coefficients[1];
    cost.attend_ns_per_pair_channel = fit.coefficients[2];
    result_.attend = fit.quality;
    result_.attention = attention_times(attends);
  });
  const std::string attend = attend_source(sizes_, options_.dtype, result_.attend);
  for (const char* const number :
       {"cost.attend_ns_per_launch", "cost.attend_ns_per_row", "cost.attend_ns_per_pair_channel"})
    set_fitted(number, attend, result_.attend);
  if (options_.dtype == Dtype::kBf16 && gpu_.facts().compute_capability() >= kernels::cuda::kTensorCores) {
    cost.attend_head_dim_multiple = kHeadDimMultiple;
    set("cost.attend_head_dim_multiple", "kernels of tensor cores are built for head dims in steps of 32 and 64",
        NumberOrigin::kAssumed);
  }
  constexpr double kSmallTile = 1.25;
  cost.small_tile = kSmallTile;
  set("cost.small_tile", "assumed: as a kernel of tiles of 32 against 64 on H800 (arXiv 2511.23113)",
      NumberOrigin::kAssumed);
  cost.gemm_ns_per_flop = cost.attend_ns_per_pair_channel / 4;  // a pair and channel is 4 FLOPs
  set("cost.gemm_ns_per_flop", "modelled: the rate of attention on active tiles; GPUs have no matrix products here yet",
      NumberOrigin::kAssumed);
  Measured pack;
  measure("copies, merges and finishes", [&] {
    Series moves = move_series(sizes_, options_.dtype);
    run_series(moves, kMoveShare * options_.seconds, bench_);
    const LinearFit fit = fit_series(moves);
    cost.move_ns_per_byte = fit.coefficients[0];
    result_.move = fit.quality;
    pack = copy_ns_per_byte(moves);
  });
  set_fitted("cost.move_ns_per_byte", move_source(result_.move), result_.move);
  if (comm_sms_ == 0) return set("cost.pack_ns_per_byte", "copy engines send from where data lies");
  cost.pack_ns_per_byte = pack.value;
  set("cost.pack_ns_per_byte", "measured: copies, each byte read and written", pack.spread);
}

void GpuCalibration::measure_communication() {
  NetworkProfile& network = result_.preset.network;
  network.compute_slowdown = 1;
  set("network.compute_slowdown", "copy engines take no SMs");
  if (comm_sms_ > 0)
    measure("attention on fewer SMs", [&] {
      const std::int32_t tokens = sizes_.long_tokens, blocks = tokens / kSlowdownBlock;
      const Experiment attention =
          attend_experiment(mask_of_row_load(sizes_.heads, tokens, kSlowdownBlock, std::max(1, blocks / 4)),
                            kSlowdownHeadDim, options_.dtype);
      const Measured slowdown = measure_slowdown(attention, comm_sms_, kSlowdownShare * options_.seconds, bench_);
      network.compute_slowdown = slowdown.value;
      set("network.compute_slowdown",
          fmt::format("measured: {} attention of {} rows beside {} held SMs of {}, over its time alone; for "
                      "communication by kernels on so many SMs",
                      dtype_name(options_.dtype), sizes_.heads * tokens, comm_sms_, gpu_.facts().num_sms),
          slowdown.spread);
    });
  Gpu* second = gpus().size() > 1 ? &Gpu::of(1) : nullptr;
  const bool unreached = second != nullptr && !reach_each_other(gpu_, *second);
  if (unreached) second = nullptr;
  const bool between = second != nullptr;
  PeerCalibration peer;
  measure("copies between ranks", [&] {
    peer = measure_peer(bench_, between ? *second : gpu_, message_bytes(), kPeerShare * options_.seconds);
  });
  result_.link = peer.quality;
  result_.preset.cost.host_ns_per_hop = result_.preset.cost.host_ns_per_collective = peer.host_ns_per_hop.value;
  for (const char* const number : {"cost.host_ns_per_hop", "cost.host_ns_per_collective"})
    set(number, "measured: enqueueing one rank's part of an exchange by copy engines", peer.host_ns_per_hop.spread);
  if (peer.link) {
    network.link_gbps = peer.link->gbps;
    network.intra_latency_ns = peer.link->latency_ns;
  } else {
    result_.unmeasured = {"network.link_gbps", "network.intra_latency_ns"};
  }
  const std::string source =
      peer.link ? fmt::format(
                      "{}: copy engines, 16 KiB to {} KiB both ways at once {}; off by {:.0f} % in the "
                      "median and {:.0f} % at most",
                      between ? "measured" : "assumed, the speed of the GPU's memory", message_bytes() >> 10,
                      between     ? "between two GPUs"
                      : unreached ? "within one GPU, as GPU 0 and GPU 1 cannot reach each other's memory: no link"
                                  : "within one GPU, for ranks that share it: no link between GPUs",
                      100 * peer.quality.median_relative_residual, 100 * peer.quality.max_relative_residual)
                : "not measured: lost in noise";
  // Memory of one GPU is not what ranks on several reach.
  const NumberOrigin origin = between ? NumberOrigin::kMeasured : NumberOrigin::kAssumed;
  network.provenance = between ? Provenance::kMeasured : Provenance::kAssumed;
  set_fitted("network.link_gbps", source, result_.link, origin);
  set_fitted("network.intra_latency_ns", source, result_.link, origin);
}

void GpuCalibration::measure_host() {
  KernelCostProfile& cost = result_.preset.cost;
  LaunchTimes launch;
  Measured copy;
  measure("launches and memory", [&] {
    constexpr std::int32_t kTokensOfLaunch = 16;
    const Experiment small =
        attend_experiment(mask_of_row_load(1, kTokensOfLaunch, kTokensOfLaunch, 1), kSlowdownHeadDim, options_.dtype);
    launch = measure_launches(small, kRestShare * options_.seconds, bench_);
    copy = measure_memory_copy(bench_, message_bytes(), kRestShare * options_.seconds);
  });
  cost.host_ns_per_launch = launch.host_ns.value;
  set("cost.host_ns_per_launch", "measured: enqueueing a kernel with its events and its word", launch.host_ns.spread);
  // The fit is to times between events of one op, which the gap to the next one is not in.
  result_.launch_gap_ns = launch.gap_ns.value;
  cost.attend_ns_per_launch += launch.gap_ns.value;
  result_.preset.sources["cost.attend_ns_per_launch"] +=
      fmt::format("; {:.2f} us of it are the gap to the next launch, half of the rounds within {:.1f} % of it",
                  1e-3 * launch.gap_ns.value, 100 * launch.gap_ns.spread);
  result_.copy_gbps = copy.value;
  result_.preset.device.memory_gbps = 2 * result_.copy_gbps;
  set("device.memory_gbps",
      fmt::format("measured: a copy of {} MiB within the GPU, bytes read and bytes written", message_bytes() >> 20),
      copy.spread);
}

void GpuCalibration::describe() {
  const GpuFacts& gpu = gpu_.facts();
  ClusterPreset& preset = result_.preset;
  preset.name = preset.gpu = gpu.name;
  preset.attention_kernel = fmt::format("spscope {}", dtype_name(options_.dtype));
  preset.device.memory_gib = static_cast<double>(gpu.memory_bytes) / (1 << 30);
  set("device.memory_gib", "memory of the GPU, as the driver tells: one rank a GPU");
  result_.device = {{"GPU", gpu.name},
                    {"compute capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                    {"SMs", fmt::format("{}", gpu.num_sms)},
                    {"clock", fmt::format("{} MHz at most", gpu.clock_mhz)},
                    {"memory clock", fmt::format("{} MHz at most", gpu.memory_clock_mhz)},
                    {"memory", fmt::format("{:.1f} GiB", preset.device.memory_gib)},
                    {"CUDA driver", driver_version_text()}};
}

Calibration GpuCalibration::run() {
  const CurrentContext current(gpu_.context());
  describe();
  measure_kernels();
  measure_communication();
  measure_host();
  return std::move(result_);
}

}  // namespace

Calibration calibrate(const CalibrateOptions& options) {
  // Each launch would wait for its end, behind a gate that opens after it.
  if (launches_wait())
    throw Error(ErrorCode::kUsage, "a GPU cannot be calibrated while CUDA_LAUNCH_BLOCKING is set",
                "unset CUDA_LAUNCH_BLOCKING");
  return GpuCalibration(options).run();
}

}  // namespace spscope::cuda
