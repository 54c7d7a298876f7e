#include "backend/job/run_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "backend/base/cores.h"
#include "backend/base/file_system.h"
#include "backend/base/process.h"
#include "backend/collect/run_recorder.h"
#include "backend/config/model_size.h"
#include "backend/execute/execute.h"
#include "backend/job/layer_masks.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr double kWorthSayingSeconds = 60, kLongSeconds = 120, kSurelyShortFlops = 1e12;
// Of the FMA peak: what the attention kernel reaches on masks of active blocks.
constexpr double kShareOfPeak = 0.5;
constexpr int kCrowdedRanksPerCore = 8;
// On a disk, of a shard as of a finished file: less than any run was seen to take, compressed or not.
constexpr std::int64_t kLeastEventBytes = 4;

// What is estimated here is compute on the cores of this machine.
bool computes_on_cores(const RunSection& run) { return run.device == "cpu"; }

std::string length_in_words(double seconds) {
  constexpr double kHour = 3600;
  if (seconds < 10 * 60) return "minutes";
  if (seconds < kHour) return "tens of minutes";
  return seconds < 48 * kHour ? fmt::format("about {:.0f} hours", std::max(1.0, seconds / kHour))
                              : fmt::format("about {:.0f} days", seconds / (24 * kHour));
}

// FLOPs of attention over all pairs of queries and keys of one layer.
double dense_attention_flops(const Model& model) {
  constexpr double kFlopsOfAPairAndChannel = 4;
  const auto outer = static_cast<double>(model.outer()), inner = static_cast<double>(model.inner());
  const double pairs = outer * inner * inner + (model.spatiotemporal() ? inner * outer * outer : 0);
  return kFlopsOfAPairAndChannel * pairs * model.hidden * model.batch;
}

// FLOPs of the matrix products of one layer; 0 when attention alone runs.
double gemm_flops(const Job& job) {
  if (job.config.run.scope != RunScope::kLayer) return 0;
  const ModelSize size = model_size(job.model);
  const double of_layer = static_cast<double>(size.attention + size.ffn) / std::max(1, job.model.layers);
  return 2 * of_layer * static_cast<double>(job.model.tokens()) * job.model.batch;
}

double seconds_of(double flops, int cores) {
  return flops / (kernels::measure_fma_gflop_per_s() * 1e9 * kShareOfPeak * cores);
}

}  // namespace

void require_mode_for_long_compute(const Job& job) {
  const RunSection& run = job.config.run;
  if (run.mode != RunMode::kExecute || job.places.contains("run.mode") || !computes_on_cores(run)) return;
  const double passes = static_cast<double>(std::max<std::size_t>(1, job.strategies.size())) *
                        static_cast<double>(job.layers.size()) * run.denoise_steps * (run.repeats + run.warmup);
  const auto flops = [&](double density) {
    return passes * (dense_attention_flops(job.model) * density + gemm_flops(job));
  };
  if (flops(1) < kSurelyShortFlops) return;
  const int cores = std::min(usable_cores(), job.run_ranks());
  if (seconds_of(flops(1), cores) < kLongSeconds) return;
  const ActivationSource activations(job);
  const double asked = flops(MaskSource(job, activations).at(0, job.layers.front()).inner.mask.density());
  const double seconds = seconds_of(asked, cores);
  if (asked < kSurelyShortFlops || seconds < kLongSeconds) return;
  throw Error(
      ErrorCode::kLongCompute,
      fmt::format("this would compute about {:.0f} TFLOP on {} core{}, {}, and run.mode is not given", asked * 1e-12,
                  cores, cores == 1 ? "" : "s", length_in_words(seconds)),
      "--set run.mode=simulate gives the times on a cluster (cluster.preset) in seconds; --set run.mode=execute "
      "computes all of it here");
}

std::string compute_note(const Job& job, const Plan& plan, int num_strategies) {
  const RunSection& run = job.config.run;
  if (run.mode == RunMode::kSimulate || !computes_on_cores(run)) return {};
  double flops = 0;
  for (const Op& op : plan.ops) flops += static_cast<double>(op.flops);
  flops *= static_cast<double>(num_strategies) * static_cast<double>(job.layers.size()) * run.denoise_steps *
           (run.repeats + run.warmup);
  if (flops < kSurelyShortFlops) return {};
  // A projection measures one rank at a time on one core.
  const int cores = run.mode == RunMode::kProject ? 1 : std::min(usable_cores(), plan.ranks);
  const double seconds = seconds_of(flops, cores);
  if (seconds < kWorthSayingSeconds) return {};
  return fmt::format("about {:.0f} TFLOP on {} core{}: {}; run.mode = simulate takes seconds", flops * 1e-12, cores,
                     cores == 1 ? "" : "s", length_in_words(seconds));
}

void require_executor(const Job& job) {
  ExecuteOptions options;
  options.device = job.config.run.device;
  options.backend = job.config.run.backend;
  options.comm = job.config.run.comm;
  if (std::vector<Problem> problems = unknown_executor(options); !problems.empty()) throw Error(std::move(problems));
  // Ranks that are processes may be on other machines; they find out for themselves.
  const Executor& executor = *find_executor(options.device, options.backend);
  if (executor.ranks_are_processes) return;
  if (Problem why = executor.unavailable(); !why.message.empty()) throw Error({std::move(why)});
}

void require_room_for_ranks(const Job& job, bool processes) {
  if (job.config.run.mode != RunMode::kExecute) return;
  const std::int64_t ranks = job.run_ranks();
  const char* kHint = "use fewer ranks; run.mode = project and simulate start none";
  if (const SystemLimit limit = thread_limit(); ranks > limit.value)
    throw Error(ErrorCode::kLaunch,
                fmt::format("{} ranks are at least as many {}, and this machine allows {} ({})", ranks,
                            processes ? "processes" : "threads", limit.value, limit.source),
                kHint);
  if (processes) return;  // perhaps on several hosts
  const std::int64_t bytes = ranks * static_cast<std::int64_t>(RunRecorder::kLeastRecords * sizeof(RingRecord));
  if (const SystemLimit limit = memory_left(); ranks > 1 && bytes > limit.value)
    throw Error(ErrorCode::kLaunch,
                fmt::format("{} ranks need at least {} bytes of memory to record what they do, and this machine has {} "
                            "left ({})",
                            ranks, bytes, limit.value, limit.source),
                kHint);
}

void RoomCheck::require(std::int64_t events) {
  const bool begun = std::exchange(begun_, true);
  const std::int64_t bytes = events * kLeastEventBytes;
  const auto require = [&](const std::string& place, std::int64_t needed, std::optional<std::int64_t> free_bytes) {
    if (!free_bytes || *free_bytes >= needed) return;
    refused_ = !begun;
    throw Error(begun ? ErrorCode::kStoreWrite : ErrorCode::kOutputPlace,
                fmt::format("{} {} events needs at least {} bytes in {}, and {} are free",
                            begun ? "the rest of the run with" : "a run of", events, needed, place, *free_bytes),
                "use fewer repeats, layers or denoise steps, or a disk with more room (run.scratch, -o)");
  };
  const FolderRoom shards = room_in(note_.folder);
  if (note_.is_part()) return require(fmt::format("\"{}\"", note_.folder), bytes, shards.free_bytes);
  const FolderRoom output = room_in(std::filesystem::path(note_.out).parent_path());
  if (shards.device == output.device)
    return require(fmt::format("\"{}\" and \"{}\", on one disk", note_.folder, note_.out), 2 * bytes,
                   shards.free_bytes);
  require(fmt::format("\"{}\"", note_.folder), bytes, shards.free_bytes);
  require(fmt::format("\"{}\"", note_.out), bytes, output.free_bytes);
}

std::string crowding_note(const Job& job) {
  const RunSection& run = job.config.run;
  const int ranks = job.run_ranks(), cores = usable_cores();
  if (run.mode != RunMode::kExecute || !computes_on_cores(run) || ranks <= kCrowdedRanksPerCore * cores) return {};
  return fmt::format(
      "{} ranks share {} core{}: this is slow, and times say nothing about a cluster; run.mode = project measures one "
      "rank at a time",
      ranks, cores, cores == 1 ? "" : "s");
}

}  // namespace spscope
