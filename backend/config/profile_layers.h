// Profile layers: what the modelled times of a cluster are made of, each number with its source. A GPU file
// (gpus/*.toml) holds the device and its attention kernels by name; an implementation file (implementations/*.toml)
// what a code base adds around the kernels. A cluster that names a GPU gets its flat numbers (cluster.h: device, cost,
// outside) from one of each by resolve_profiles(), the only place where they meet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/base/result.h"
#include "backend/config/cluster.h"
#include "backend/config/model.h"

namespace spscope {

struct SourcedNumber {
  double value = 0;
  NumberOrigin from = NumberOrigin::kAssumed;
  std::string source;
  std::optional<NumberRange> range = {};  // of hosts, where they differ
  friend bool operator==(const SourcedNumber&, const SourcedNumber&) = default;
};

// One attention kernel on one GPU; profile_fields.def has the units.
struct AttentionKernelProfile {
  std::string name, note;
  SourcedNumber tflops, ramp_keys, sparse_keep;
  friend bool operator==(const AttentionKernelProfile&, const AttentionKernelProfile&) = default;
};

struct GpuProfile {
  std::string name, note;
  std::string dense_kernel, sparse_kernel;  // what is usual: usual_kernel() takes them
  SourcedNumber dense_bf16_tflops, dense_tf32_tflops, memory_gbps, memory_gib, reserved_gib, matmul_share;
  SourcedNumber launch_us, head_dim_multiple, small_tile;  // of each attention kernel
  std::vector<AttentionKernelProfile> kernels;
  // nullptr when this GPU has no such kernel.
  const AttentionKernelProfile* find_kernel(std::string_view name) const;
  std::vector<std::string_view> kernel_names() const;
  // That used when run.attention_kernel is empty: the kernel of the method that makes the masks, which has its name,
  // where this GPU has it. `method`: of sparse masks (MaskConfig::method()).
  const std::string& usual_kernel(bool sparse, std::string_view method) const;
  friend bool operator==(const GpuProfile&, const GpuProfile&) = default;
};

// What a generation makes: the kinds of output whose time outside of the layers differs.
inline constexpr std::string_view kImage = "image", kVideo = "video";

// Time of a whole generation that is not in its layers.
struct OutsideNumbers {
  SourcedNumber per_run_s, per_step_ms, parallel_above_mpixels;
  friend bool operator==(const OutsideNumbers&, const OutsideNumbers&) = default;
};

// Decoders of latents: frame by frame as of images, of Wan, of CogVideoX, of other videos.
inline constexpr std::string_view kVaeOfFrames = "frame", kVaeOfWan = "wan", kVaeOfCogvideox = "cogvideox",
                                  kVaeOfVideos = "video";
std::string_view vae_of(const Model& model);

struct VaeNumbers {
  SourcedNumber mpixel_s;
  friend bool operator==(const VaeNumbers&, const VaeNumbers&) = default;
};

struct ImplementationProfile {
  std::string name, note;
  SourcedNumber elementwise_passes, rotary_passes, merge_passes, pack_passes;
  SourcedNumber host_us_per_launch, host_us_per_collective, host_us_per_hop, working_bytes;
  std::map<std::string, OutsideNumbers> outside = {{std::string(kImage), {}}, {std::string(kVideo), {}}};
  std::map<std::string, VaeNumbers> vae = {{std::string(kVaeOfFrames), {}},
                                           {std::string(kVaeOfWan), {}},
                                           {std::string(kVaeOfCogvideox), {}},
                                           {std::string(kVaeOfVideos), {}}};
  friend bool operator==(const ImplementationProfile&, const ImplementationProfile&) = default;
};

inline constexpr std::string_view kDefaultImplementation = "compiled";

// Of the built-in files, in alphabetical order.
std::vector<std::string_view> gpu_names();
std::vector<std::string_view> implementation_names();
// nullptr when there is none of this name.
const GpuProfile* find_gpu(std::string_view name);
const ImplementationProfile* find_implementation(std::string_view name);

// The numbers of a layer by their keys, "matmul_share" or "kernel.fa3.tflops": what files, listings and fits go
// through.
std::vector<std::pair<std::string, SourcedNumber*>> numbers_of(GpuProfile& gpu);
std::vector<std::pair<std::string, SourcedNumber*>> numbers_of(ImplementationProfile& implementation);

// Texts of these files; the error holds all problems. `file` names the text in their places.
Result<GpuProfile> parse_gpu(std::string_view text, std::string_view file);
Result<ImplementationProfile> parse_implementation(std::string_view text, std::string_view file);
// The text that reads back as an equal profile.
std::string gpu_toml(const GpuProfile& gpu);
std::string implementation_toml(const ImplementationProfile& implementation);

// What is asked of the layers, besides the GPU.
struct ProfileChoices {
  std::string attention_kernel;  // "": the GPU's usual one
  std::string implementation;    // "": kDefaultImplementation
  bool sparse = false;           // whether masks leave pairs out
  std::string method = {};       // of them: MaskConfig::method()
  Dtype dtype = Dtype::kBf16;    // fp32 computes at the TF32 rate
  Model model;                   // for what it makes, and what it does to q and k
  int gpus = 1;                  // of one generation
};

// Fills device, cost and outside of the preset, their sources and origins, and the names of kernel and implementation.
// Numbers of [device] that the cluster's own file gives stay. REQUIRES: the GPU has the kernel.
void resolve_profiles(ClusterPreset& preset, const GpuProfile& gpu, const ImplementationProfile& implementation,
                      const ProfileChoices& choices);
// The same with the built-in layers by name. Adds a problem for each name that is not known.
void resolve_profiles(ClusterPreset& preset, const ProfileChoices& choices, std::vector<Problem>& problems);

}  // namespace spscope
