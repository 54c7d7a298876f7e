// What a rank needs of its device's memory to run a model, by what it is for, and whether it has that.
//
// Activations are the bound of the plan (memory_bound): of one layer, or with run.scope = attention of the attention
// alone, where the feed-forward network's are not counted. Code that holds more of a token at once than the tensors of
// a plan says so (ImplementationProfile::working_bytes), and then that counts. Weights are those of the whole model
// (model_size), whichever scope. The text encoder counts where run.text_encoder says that it is on the GPU.
//
// Not counted, and stated beside the need: a text encoder of which the config does not say where it is, and the VAE
// (model_companions.h), which runs after the transformer and takes the place of its activations. Latents and the images
// they become are left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/config/model.h"
#include "backend/plan/plan.h"

namespace spscope {

// Bytes.
struct RankMemory {
  std::int64_t activations = 0, weights = 0, staging = 0;
  std::int64_t reserved = 0;  // DeviceProfile::reserved_gib; 0 when memory is not limited
  std::int64_t text_encoder = 0, other = 0;
  std::int64_t total() const { return activations + weights + staging + reserved + text_encoder + other; }
  friend bool operator==(const RankMemory&, const RankMemory&) = default;
};

// What a GPU may hold besides, in bytes.
struct UncountedMemory {
  std::int64_t text_encoder = 0;                           // 0: counted, on no GPU, or none
  std::int64_t vae = 0, vae_decoding = 0;                  // weights, and what decoding needs beside them
  bool text_encoder_unknown = false, vae_unknown = false;  // there may be one, and its size is not known here
  friend bool operator==(const UncountedMemory&, const UncountedMemory&) = default;
};

// Of the fullest rank. kFits: with what is not counted. kFitsAlone: only where that is elsewhere.
enum class MemoryVerdict { kFits, kFitsAlone, kDoesNotFit };
std::string_view verdict_name(MemoryVerdict verdict);  // "fits", "fits_alone", "does_not_fit"

// What must not be on the GPU for the rest to fit.
struct Elsewhere {
  bool text_encoder = false, vae = false;
};

// A margin below this share of the memory is a warning. A card reports 1 to 2 % less than is printed on it (47.4 of 48,
// 31.4 of 32, 39.4 of 40 GiB in reports of programs that ran out of memory), and the pool of an allocator grows beyond
// what tensors take by more than the part that is reserved for it here (6 % in sgl-project/sglang pull request 19405).
inline constexpr double kTightShare = 0.05;

struct MemoryNeed {
  std::vector<RankMemory> ranks;
  std::int64_t limit = 0;  // bytes a rank has; 0: not limited
  UncountedMemory uncounted = {};
  // The rank that needs most; the first of several. REQUIRES: there are ranks.
  int fullest() const;
  // Whether it has what is counted.
  bool fits() const { return limit == 0 || ranks[static_cast<std::size_t>(fullest())].total() <= limit; }
  // What the VAE adds to the need of the fullest rank: activations are free when it decodes.
  std::int64_t vae_bytes() const;
  // The need of the fullest rank with all that is not counted.
  std::int64_t with_uncounted() const;
  MemoryVerdict verdict() const;
  // As little as possible, the VAE first, which can decode in tiles; nothing unless the verdict is kFitsAlone.
  Elsewhere elsewhere() const;
  // Bytes left by all but elsewhere(); of kDoesNotFit those that are missing for what is counted, below 0. REQUIRES:
  // limited.
  std::int64_t margin() const;
  bool tight() const;  // fits, with a margin below kTightShare; false without a limit
};

// "needs 92.1 of 80 GiB, at rank 3: 58.1 activations, 28.6 weights, 2.9 staging, 2.5 reserved"; parts of zero are left
// out, and " of 80" without a limit. The parts are rounded so that they add up to what it needs. Where rounding would
// hide that it is too much, more digits are shown.
std::string memory_sentence(const MemoryNeed& need);

// "fits only with the text encoder and VAE elsewhere, with 0.5 GiB to spare, which is tight". REQUIRES: limited.
std::string fit_text(const MemoryNeed& need);
// The same and what they take: ". The text encoder takes about 10.6 GiB, and the VAE up to 24.2 GiB while it decodes,
// in place of the activations".
std::string verdict_text(const MemoryNeed& need);

// Bytes of weights by rank. A kernel's columns that a rank holds no part of are cut: Megatron. With sharded weights
// what is not cut is spread evenly over the GPUs of a replica, and three things are held whole in the dtype of compute:
// the layer that computes, the next one that arrives, and what lies around the layers, which FSDP gathers once a pass.
// All experts of a model are held. `plans`: of the replica, each on its own plan.ranks GPUs (Job::plans_at_once()).
std::vector<std::int64_t> weight_bytes_by_rank(const Plan& plan, const Model& model, const RunSection& run,
                                               int plans = 1);

// `activations`: memory_bound(plan), or what a file kept of it. `plans`: as above; they share a text encoder, too.
MemoryNeed memory_need(const Plan& plan, std::span<const std::int64_t> activations, const Model& model,
                       const RunSection& run, const ClusterPreset& cluster, int plans = 1);
MemoryNeed memory_need(const Plan& plan, const Model& model, const RunSection& run, const ClusterPreset& cluster,
                       int plans = 1);

}  // namespace spscope
