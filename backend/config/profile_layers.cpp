// The built-in layers, and the one place where they become the flat numbers of a cluster.
#include "backend/config/profile_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/base/check.h"
#include "backend/base/nearest_name.h"
#include "backend/config/embedded_files.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

EmbeddedFiles<GpuProfile>& built_in_gpus() {
  static EmbeddedFiles<GpuProfile> gpus(embedded_gpus(), parse_gpu);
  return gpus;
}
EmbeddedFiles<ImplementationProfile>& built_in_implementations() {
  static EmbeddedFiles<ImplementationProfile> implementations(embedded_implementations(), parse_implementation);
  return implementations;
}

void unknown_name(std::vector<Problem>& problems, std::string field, std::string_view name, std::string_view what,
                  const std::vector<std::string_view>& names) {
  const std::string near = name.size() <= 80 ? nearest_name(name, names) : "";
  problems.push_back({ErrorCode::kConfigUnknownName, std::move(field),
                      fmt::format("\"{}\" is not {}", shown(name), what),
                      near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                   : fmt::format("did you mean \"{}\"?", near)});
}

// The time of a VAE falls with the root of the peak: partly memory, partly matrix products. Stated at that of an A100.
constexpr double kVaePeakTflops = 312;

// Writes resolved numbers into a preset, each with the source and origin of what it follows from.
class Resolver {
 public:
  explicit Resolver(ClusterPreset& preset) : preset_(preset) {}

  void set(const std::string& name, double& out, double value, const SourcedNumber& of, const std::string& how) {
    out = value;
    preset_.sources[name] = how.empty() ? of.source : fmt::format("{}: {}", how, of.source);
    preset_.origins[name] = of.from;
    preset_.ranges.erase(name);
  }
  // A number that is `factor` times another, and so are the ends of its range.
  void set_times(const std::string& name, double& out, double factor, const SourcedNumber& of) {
    set(name, out, factor * of.value, of, "");
    if (of.range) preset_.ranges[name] = {factor * of.range->low, factor * of.range->high};
  }
  // A number of [device], unless the cluster's own file gives it.
  void set_device(const std::string& name, double& out, const SourcedNumber& of) {
    if (!preset_.own_device.contains(name)) set(name, out, of.value, of, "");
  }

 private:
  ClusterPreset& preset_;
};

// Fitted when neither of two numbers was assumed.
NumberOrigin of_both(const SourcedNumber& a, const SourcedNumber& b) {
  const bool assumed = a.from == NumberOrigin::kAssumed || b.from == NumberOrigin::kAssumed;
  return assumed ? NumberOrigin::kAssumed : NumberOrigin::kFitted;
}
Provenance of_section(NumberOrigin origin) {
  return origin == NumberOrigin::kAssumed ? Provenance::kAssumed : Provenance::kFitted;
}

// The time outside of the layers of one generation on `choices.gpus` GPUs.
void resolve_outside(ClusterPreset& preset, const GpuProfile& gpu, const ImplementationProfile& implementation,
                     const ProfileChoices& choices, Resolver& to) {
  const Model& model = choices.model;
  const OutsideNumbers& numbers = implementation.outside.at(std::string(model.is_image() ? kImage : kVideo));
  const double mpixels = model.output_mpixels() * model.samples();
  const SourcedNumber& vae = implementation.vae.at(std::string(vae_of(model))).mpixel_s;
  const int together = mpixels > numbers.parallel_above_mpixels.value ? choices.gpus : 1;
  const double decoding_s = vae.value * mpixels * std::sqrt(kVaePeakTflops / gpu.dense_bf16_tflops.value) / together;
  preset.outside = {};
  to.set("outside.per_run_ns", preset.outside.per_run_ns, 1e9 * (numbers.per_run_s.value + decoding_s),
         numbers.per_run_s,
         fmt::format("{:g} s, and {:.3g} s to decode {:.3g} Mpixel", numbers.per_run_s.value, decoding_s, mpixels));
  to.set("outside.per_step_ns", preset.outside.per_step_ns, 1e6 * numbers.per_step_ms.value, numbers.per_step_ms, "");
  preset.outside.provenance = of_section(of_both(numbers.per_run_s, vae));
}

}  // namespace

std::string_view vae_of(const Model& model) {
  if (model.frames_per_token == 1) return kVaeOfFrames;
  switch (model.family) {
    case ModelFamily::kWan:
      return kVaeOfWan;
    case ModelFamily::kCogVideoX:
      return kVaeOfCogvideox;
    default:
      return kVaeOfVideos;
  }
}

const AttentionKernelProfile* GpuProfile::find_kernel(std::string_view of) const {
  const auto found = std::ranges::find(kernels, of, &AttentionKernelProfile::name);
  return found == kernels.end() ? nullptr : &*found;
}

std::vector<std::string_view> GpuProfile::kernel_names() const {
  std::vector<std::string_view> names;
  for (const AttentionKernelProfile& kernel : kernels) names.push_back(kernel.name);
  return names;
}

const std::string& GpuProfile::usual_kernel(bool sparse, std::string_view method) const {
  if (!sparse) return dense_kernel;
  const AttentionKernelProfile* own = find_kernel(method);
  return own != nullptr ? own->name : sparse_kernel;
}

std::vector<std::string_view> gpu_names() { return built_in_gpus().names(); }
std::vector<std::string_view> implementation_names() { return built_in_implementations().names(); }
const GpuProfile* find_gpu(std::string_view name) { return built_in_gpus().find(name); }
const ImplementationProfile* find_implementation(std::string_view name) {
  return built_in_implementations().find(name);
}

void resolve_profiles(ClusterPreset& preset, const GpuProfile& gpu, const ImplementationProfile& implementation,
                      const ProfileChoices& choices) {
  const AttentionKernelProfile* kernel = gpu.find_kernel(
      choices.attention_kernel.empty() ? gpu.usual_kernel(choices.sparse, choices.method) : choices.attention_kernel);
  SPSCOPE_CHECK(kernel != nullptr);
  Resolver to(preset);
  preset.gpu = gpu.name;
  preset.attention_kernel = kernel->name;
  preset.implementation = implementation.name;
  to.set_device("device.dense_bf16_tflops", preset.device.dense_bf16_tflops, gpu.dense_bf16_tflops);
  to.set_device("device.memory_gbps", preset.device.memory_gbps, gpu.memory_gbps);
  to.set_device("device.memory_gib", preset.device.memory_gib, gpu.memory_gib);
  to.set_device("device.reserved_gib", preset.device.reserved_gib, gpu.reserved_gib);

  // 10^12 FLOP a second are 10^3 a nanosecond; one pair and channel is 4 FLOP.
  constexpr double kPerNs = 1e3, kFlopsOfAPairChannel = 4;
  const bool fp32 = choices.dtype == Dtype::kFp32;
  const double slower = fp32 ? gpu.dense_bf16_tflops.value / gpu.dense_tf32_tflops.value : 1;
  const std::string in_fp32 = fp32 ? ", slower by its bf16 over its TF32 peak" : "";
  const double keep = choices.sparse ? kernel->sparse_keep.value : 1;
  KernelCostProfile& cost = preset.cost;
  cost = {};
  to.set("cost.attend_ns_per_pair_channel", cost.attend_ns_per_pair_channel,
         kFlopsOfAPairChannel * slower / (kernel->tflops.value * keep * kPerNs), kernel->tflops,
         fmt::format("4 FLOP at {:g} TFLOP/s{}{}", kernel->tflops.value,
                     choices.sparse ? fmt::format(" x {:g} kept on sparse masks", keep) : "", in_fp32));
  if (choices.sparse) preset.origins["cost.attend_ns_per_pair_channel"] = of_both(kernel->tflops, kernel->sparse_keep);
  to.set("cost.attend_ramp_keys", cost.attend_ramp_keys, kernel->ramp_keys.value, kernel->ramp_keys, "");
  to.set("cost.attend_head_dim_multiple", cost.attend_head_dim_multiple, gpu.head_dim_multiple.value,
         gpu.head_dim_multiple, "");
  to.set("cost.small_tile", cost.small_tile, gpu.small_tile.value, gpu.small_tile, "");
  to.set("cost.attend_ns_per_launch", cost.attend_ns_per_launch, 1e3 * gpu.launch_us.value, gpu.launch_us, "");
  to.set("cost.attend_ns_per_row", cost.attend_ns_per_row, 0, kernel->ramp_keys, "in the ramp");
  const double memory_ns = 1 / preset.device.memory_gbps;
  to.set("cost.move_ns_per_byte", cost.move_ns_per_byte, memory_ns, gpu.memory_gbps,
         fmt::format("memory at {:g} GB/s", preset.device.memory_gbps));
  to.set("cost.gemm_ns_per_flop", cost.gemm_ns_per_flop,
         slower / (gpu.matmul_share.value * gpu.dense_bf16_tflops.value * kPerNs), gpu.matmul_share,
         fmt::format("{:g} of {:g} TFLOP/s{}", gpu.matmul_share.value, gpu.dense_bf16_tflops.value, in_fp32));
  to.set("cost.elementwise_passes", cost.elementwise_passes, implementation.elementwise_passes.value,
         implementation.elementwise_passes, "");
  const QkForm qk = choices.model.qk;
  if (qk == QkForm::kNormRotary)
    to.set("cost.rotary_passes", cost.rotary_passes, implementation.rotary_passes.value, implementation.rotary_passes,
           "");
  else if (qk == QkForm::kNorm)
    to.set("cost.rotary_passes", cost.rotary_passes, implementation.elementwise_passes.value,
           implementation.elementwise_passes, "no rotary embedding in the model");
  else
    to.set("cost.rotary_passes", cost.rotary_passes, 0, implementation.rotary_passes, "none in the model");
  to.set("cost.merge_passes", cost.merge_passes, implementation.merge_passes.value, implementation.merge_passes, "");
  to.set("cost.ring_merge_passes", cost.ring_merge_passes, implementation.merge_passes.value,
         implementation.merge_passes, "");
  to.set_times("cost.host_ns_per_launch", cost.host_ns_per_launch, 1e3, implementation.host_us_per_launch);
  to.set_times("cost.host_ns_per_collective", cost.host_ns_per_collective, 1e3, implementation.host_us_per_collective);
  to.set_times("cost.host_ns_per_hop", cost.host_ns_per_hop, 1e3, implementation.host_us_per_hop);
  to.set("cost.pack_ns_per_byte", cost.pack_ns_per_byte, 2 * implementation.pack_passes.value * memory_ns,
         implementation.pack_passes,
         fmt::format("{:g} copies, each read and written", implementation.pack_passes.value));
  cost.provenance = of_section(of_both(kernel->tflops, gpu.matmul_share));

  resolve_outside(preset, gpu, implementation, choices, to);
}

void resolve_profiles(ClusterPreset& preset, const ProfileChoices& choices, std::vector<Problem>& problems) {
  const GpuProfile* gpu = find_gpu(preset.gpu);
  const std::string_view wanted =
      choices.implementation.empty() ? kDefaultImplementation : std::string_view(choices.implementation);
  const ImplementationProfile* implementation = find_implementation(wanted);
  if (gpu == nullptr) unknown_name(problems, "gpu", preset.gpu, "a GPU that is known", gpu_names());
  if (implementation == nullptr)
    unknown_name(problems, "run.implementation", wanted, "an implementation that is known", implementation_names());
  if (gpu == nullptr || implementation == nullptr) return;
  if (!choices.attention_kernel.empty() && gpu->find_kernel(choices.attention_kernel) == nullptr)
    return unknown_name(problems, "run.attention_kernel", choices.attention_kernel,
                        fmt::format("an attention kernel of {}", gpu->name), gpu->kernel_names());
  resolve_profiles(preset, *gpu, *implementation, choices);
}

}  // namespace spscope
