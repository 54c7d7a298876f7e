#include "backend/study/other_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/config/profile_layers.h"
#include "backend/study/engine_choice.h"
#include "backend/study/seeds.h"

namespace spscope {
namespace {

// End to end on masks of one seed; 0: not known.
std::int64_t end_to_end_of(JobFlags flags, const std::string& argument, std::vector<std::string> settings,
                           std::int64_t max_memory_bytes, const QuietRun& options) {
  flags.strategies = {argument};
  flags.settings.insert(flags.settings.end(), settings.begin(), settings.end());
  const SeededRuns runs = run_seeds(load_job(flags, max_memory_bytes), 1, options);
  const StrategyResult& result = runs.together.strategies.front();
  return result.legal() ? result.end_to_end_ns.value_or(0) : 0;
}

std::string text_of(const std::string& kernel, const std::string& implementation) {
  return fmt::format("{} in {} code", kernel, implementation);
}

}  // namespace

std::string code_text(const Job& job) {
  const ClusterPreset& preset = job.cluster.preset;
  if (!preset.attention_kernel.empty() && !preset.implementation.empty())
    return text_of(preset.attention_kernel, preset.implementation);
  const std::string& file = job.config.cluster.profile;
  return "the costs of " + (file.empty() ? preset.name : std::filesystem::path(file).filename().string());
}

std::optional<OtherTime> with_other_code(const JobFlags& asked, const Job& job, const std::string& argument,
                                         const QuietRun& options) {
  const ClusterPreset& preset = job.cluster.preset;
  const GpuProfile* gpu = find_gpu(preset.gpu);
  if (gpu == nullptr || preset.attention_kernel.empty() || preset.implementation.empty()) return std::nullopt;
  const bool sparse =
      !job.config.mask.file.empty() || (job.config.mask.pattern != "dense" && job.config.mask.density < 1);
  const bool compiled = preset.implementation == kDefaultImplementation;
  const std::string usual = sparse ? gpu->sparse_kernel : gpu->dense_kernel, plain = sparse ? "flex" : "fa2";
  std::string kernel = compiled ? plain : usual;
  if (gpu->find_kernel(kernel) == nullptr) kernel = preset.attention_kernel;
  const std::string implementation = compiled ? "official" : std::string(kDefaultImplementation);
  const std::int64_t ns =
      end_to_end_of(asked, argument, {"run.attention_kernel=" + kernel, "run.implementation=" + implementation},
                    job.max_memory_bytes, options);
  return OtherTime{text_of(kernel, implementation), ns};
}

std::optional<OtherTime> with_sparse_masks(const JobFlags& asked, const Job& job, const std::string& argument,
                                           const QuietRun& options) {
  const std::int64_t ns =
      end_to_end_of(asked, argument, {"mask.pattern=sparge", fmt::format("mask.density={}", kUsualDensity)},
                    job.max_memory_bytes, options);
  return ns > 0 ? std::optional(OtherTime{fmt::format("sparge, density {:.2f}", kUsualDensity), ns}) : std::nullopt;
}

}  // namespace spscope
