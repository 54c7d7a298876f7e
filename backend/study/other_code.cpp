#include "backend/study/other_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "backend/config/profile_layers.h"
#include "backend/study/divisions.h"
#include "backend/study/engine_choice.h"
#include "backend/study/seeds.h"

namespace spscope {
namespace {

// An engine, where there is one, runs what it has alone.
OtherTime time_of(const JobFlags& flags, const Engine* engine, int seeds, const QuietRun& options,
                  std::int64_t max_memory_bytes) {
  const Job job = load_job(flags, max_memory_bytes);
  const StrategyResult result = run_seeds(job, useful_seeds(job, seeds), options).together.strategies.front();
  const bool has = engine == nullptr || missing_in(*engine, engine_setup(job, result)).empty();
  OtherTime time{.end_to_end_ns = has && result.legal() ? result.end_to_end_ns.value_or(0) : 0,
                 .layer_ns = result.layer_pass_ns()};
  if (time.end_to_end_ns > 0) return time;
  const bool lacks_memory =
      std::ranges::any_of(result.problems, [](const Problem& p) { return p.code == ErrorCode::kMemoryNeed; });
  time.why = lacks_memory ? "does not fit" : "cannot run";
  return time;
}

JobFlags with_settings(JobFlags flags, const std::string& argument, std::span<const std::string> settings) {
  flags.strategies = {argument};
  flags.settings.insert(flags.settings.end(), settings.begin(), settings.end());
  return flags;
}

std::string text_of(const std::string& kernel, const std::string& implementation) {
  const char* code = implementation == kDefaultImplementation ? "torch.compile"
                     : implementation == "official"           ? "the model's own uncompiled code"
                                                              : "uncompiled code of diffusers or xDiT";
  return fmt::format("{} and {}", code, kernel);
}

}  // namespace

std::string code_text(const Job& job) {
  const ClusterPreset& preset = job.cluster.preset;
  if (!preset.attention_kernel.empty() && !preset.implementation.empty())
    return text_of(preset.attention_kernel, preset.implementation);
  const std::string& file = job.config.cluster.profile;
  return "the costs of " + (file.empty() ? preset.name : std::filesystem::path(file).filename().string());
}

std::string rate_note(const Job& job) {
  const ClusterPreset& preset = job.cluster.preset;
  const GpuProfile* gpu = find_gpu(preset.gpu);
  const AttentionKernelProfile* kernel = gpu == nullptr ? nullptr : gpu->find_kernel(preset.attention_kernel);
  if (!job.cluster.layered) return "";  // the file gives its own
  if (kernel == nullptr || kernel->tflops.from != NumberOrigin::kAssumed) return "";
  constexpr std::string_view kTaken = "taken from ", kAssumption = "assumption: ";
  const std::string& source = kernel->tflops.source;
  const std::string how = source.starts_with(kTaken)        ? source.substr(0, source.find(": "))
                          : source.starts_with(kAssumption) ? "assumed: " + source.substr(kAssumption.size())
                                                            : "assumed";
  return fmt::format("The rate of {} on {} is {}.", kernel->name, gpu->name, how);
}

std::optional<OtherTime> with_other_code(const JobFlags& asked, const Job& job, const std::string& argument,
                                         const Engine* engine, double error, int seeds, const QuietRun& options) {
  const ClusterPreset& preset = job.cluster.preset;
  const GpuProfile* gpu = find_gpu(preset.gpu);
  if (gpu == nullptr || !job.cluster.layered) return std::nullopt;
  const bool sparse = has_sparse_masks(job);
  const bool compiled = preset.implementation == kDefaultImplementation;
  const std::string usual = gpu->usual_kernel(sparse, job.config.mask.method()), plain = sparse ? "flex" : "fa2";
  std::string kernel = compiled ? plain : usual;
  if (gpu->find_kernel(kernel) == nullptr) kernel = preset.attention_kernel;
  const std::string implementation = compiled ? "official" : std::string(kDefaultImplementation);
  const std::string settings[] = {"run.attention_kernel=" + kernel, "run.implementation=" + implementation};
  JobFlags flags = with_settings(asked, argument, settings);
  OtherTime time = time_of(flags, nullptr, seeds, options, job.max_memory_bytes);
  time.text = text_of(kernel, implementation);
  flags.strategies = asked.strategies;
  Job all = load_job(flags, job.max_memory_bytes);
  engine != nullptr ? restrict_to(*engine, all) : restrict_to_engines(all);
  time.of_engines = engine == nullptr;
  if (all.strategies.empty()) return time;
  const DivisionTime best = time_divisions({all}, seeds, options).times.front();
  const double limit = (1 + error) * static_cast<double>(best.end_to_end_ns);
  if (best.end_to_end_ns > 0 && (time.end_to_end_ns == 0 || limit < static_cast<double>(time.end_to_end_ns))) {
    time.faster = best.best;
    time.faster_ns = best.end_to_end_ns;
  }
  return time;
}

std::optional<OtherTime> with_sparse_masks(const JobFlags& asked, const Job& job, const std::string& argument,
                                           const Engine* engine, int seeds, const QuietRun& options) {
  const std::string usual = "sparge", pattern = engine == nullptr
                                                    ? usual
                                                    : std::string(engine->patterns(job.config.model.preset).front());
  const std::string settings[] = {"mask.pattern=" + pattern, fmt::format("mask.density={}", kUsualDensity)};
  JobFlags flags = with_settings(asked, argument, settings);
  if (engine != nullptr)
    flags = with_settings(std::move(flags), argument, engine_settings(*engine, load_job(flags, job.max_memory_bytes)));
  OtherTime time = time_of(flags, engine, seeds, options, job.max_memory_bytes);
  if (time.end_to_end_ns == 0) return std::nullopt;
  time.text = fmt::format("{}, density {:.2f}", pattern, kUsualDensity);
  time.flags =
      fmt::format("{}--density {}", pattern == usual ? "" : fmt::format("--pattern {} ", pattern), kUsualDensity);
  return time;
}

}  // namespace spscope
