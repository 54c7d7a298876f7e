// What a rank needs of its device's memory to run a model, by what it is for.
//
// Activations are the bound of the plan (memory_bound): of one layer, or with run.scope = attention of the attention
// alone, where the feed-forward network's are not counted. Weights are those of the whole model (model_size) in the
// plan's dtype, whichever scope. Not counted: text encoder, VAE, latents and the images they become.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/config/model.h"
#include "backend/plan/plan.h"

namespace spscope {

// Bytes.
struct RankMemory {
  std::int64_t activations = 0, weights = 0, staging = 0;
  std::int64_t reserved = 0;  // DeviceProfile::reserved_gib; 0 when memory is not limited
  std::int64_t total() const { return activations + weights + staging + reserved; }
  friend bool operator==(const RankMemory&, const RankMemory&) = default;
};

struct MemoryNeed {
  std::vector<RankMemory> ranks;
  std::int64_t limit = 0;  // bytes a rank has; 0: not limited
  // The rank that needs most; the first of several. REQUIRES: there are ranks.
  int fullest() const;
  bool fits() const { return limit == 0 || ranks[static_cast<std::size_t>(fullest())].total() <= limit; }
};

// "needs 92.1 of 80 GiB, at rank 3: 58.1 activations, 28.6 weights, 2.9 staging, 2.5 reserved"; parts of zero are left
// out, and " of 80" without a limit. Where rounding would hide that it is too much, more digits are shown.
std::string memory_sentence(const MemoryNeed& need);

// Bytes of weights by rank. A kernel's columns that a rank holds no part of are cut: Megatron. With `sharded` what is
// not cut is spread evenly, and two gathered layers are held: the one that computes, and the next that arrives.
std::vector<std::int64_t> weight_bytes_by_rank(const Plan& plan, const Model& model, WeightLayout layout);

// `activations`: memory_bound(plan), or what a file kept of it.
MemoryNeed memory_need(const Plan& plan, std::span<const std::int64_t> activations, const Model& model,
                       WeightLayout layout, const DeviceProfile& device);
MemoryNeed memory_need(const Plan& plan, const Model& model, WeightLayout layout, const DeviceProfile& device);

}  // namespace spscope
