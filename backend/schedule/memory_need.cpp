#include "backend/schedule/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/base/dtype.h"
#include "backend/base/ids.h"
#include "backend/config/model_size.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/staging.h"

namespace spscope {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
// FSDP gathers a layer while the one before it computes.
constexpr int kGatheredLayers = 2;

std::int64_t bytes_of_gib(double gib) { return std::llround(gib * kGib); }

// Of the weights along an axis, how much a rank holds: the columns of the plan's matrix products at it. All of them
// where it takes part in no such product.
struct Share {
  std::int64_t held = 0, all = 0;
  std::int64_t of(std::int64_t parameters) const {
    if (!cut()) return parameters;
    return static_cast<std::int64_t>(
        std::llround(static_cast<double>(parameters) * static_cast<double>(held) / static_cast<double>(all)));
  }
  bool cut() const { return held < all; }
};

struct Shares {
  Share heads, ffn;
};

std::vector<Shares> weight_shares(const Plan& plan) {
  std::vector<Shares> shares(at(plan.ranks));
  const auto boxes = [&](ValueId value, int rank) { return plan.values[at(value)].placement.at(rank); };
  const auto note = [&](Share Shares::*which, Axis axis, ValueId value, ValueId other) {
    for (int rank = 0; rank < plan.ranks; ++rank) {
      if (boxes(value, rank).empty() && boxes(other, rank).empty()) continue;
      Share& share = shares[at(rank)].*which;
      share.all = plan.num_columns[static_cast<int>(axis)];
      for (const Box& box : boxes(value, rank)) share.held = std::max(share.held, plan.sets->size(box.columns));
    }
  };
  for (const Post& post : plan.posts) {
    if (post.kind != PostKind::kLocal || !plan.kernels[at(post.kernel)].contracts) continue;
    const Kernel& kernel = plan.kernels[at(post.kernel)];
    for (const bool in : {true, false}) {
      const Axis axis = in ? kernel.in : kernel.out;
      const ValueId value = in ? post.src : post.dst, other = in ? post.dst : post.src;
      if (axis == Axis::kHeads) note(&Shares::heads, axis, value, other);
      if (axis == Axis::kFfn) note(&Shares::ffn, axis, value, other);
    }
  }
  return shares;
}

std::string gib_text(std::int64_t bytes, int digits) {
  return fmt::format("{:.{}f}", static_cast<double>(bytes) / kGib, digits);
}

}  // namespace

int MemoryNeed::fullest() const {
  return static_cast<int>(std::ranges::max_element(ranks, {}, &RankMemory::total) - ranks.begin());
}

std::string memory_sentence(const MemoryNeed& need) {
  const int rank = need.fullest();
  const RankMemory& memory = need.ranks[at(rank)];
  constexpr int kMostDigits = 9;
  int digits = 1;
  while (digits < kMostDigits && gib_text(memory.total(), digits) == gib_text(need.limit, digits) && !need.fits())
    ++digits;
  // Small models, of which tests and laptops are full.
  while (digits < kMostDigits && memory.total() > 0 && std::stod(gib_text(memory.total(), digits)) == 0) ++digits;
  std::string limit = gib_text(need.limit, digits);
  if (limit.find('.') != std::string::npos) limit.erase(limit.find_last_not_of('0') + 1);
  if (limit.ends_with('.')) limit.pop_back();
  std::string parts;
  for (const auto& [bytes, name] : {std::pair(memory.activations, "activations"), std::pair(memory.weights, "weights"),
                                    std::pair(memory.staging, "staging"), std::pair(memory.reserved, "reserved")})
    if (bytes > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", gib_text(bytes, digits), name);
  return fmt::format("needs {}{} GiB, at rank {}: {}", gib_text(memory.total(), digits),
                     need.limit > 0 ? " of " + limit : "", rank, parts);
}

std::vector<std::int64_t> weight_bytes_by_rank(const Plan& plan, const Model& model, WeightLayout layout) {
  const ModelSize size = model_size(model);
  const std::vector<Shares> shares = weight_shares(plan);
  const bool sharded = layout == WeightLayout::kSharded && plan.ranks > 1;
  std::vector<std::int64_t> bytes;
  for (const auto& [heads, ffn] : shares) {
    const bool cut = heads.cut() || ffn.cut();
    std::int64_t held = 0, common = size.modulation + size.outside;
    (cut ? held : common) += heads.of(size.attention) + ffn.of(size.ffn);
    if (!sharded) {
      held += common;
    } else {
      const std::int64_t gathered = cut ? size.largest_layer_modulation : size.largest_layer;
      held += (common + plan.ranks - 1) / plan.ranks + std::min(model.layers, kGatheredLayers) * gathered;
    }
    bytes.push_back(held * dtype_bytes(plan.dtype));
  }
  return bytes;
}

MemoryNeed memory_need(const Plan& plan, std::span<const std::int64_t> activations, const Model& model,
                       WeightLayout layout, const DeviceProfile& device) {
  MemoryNeed need;
  need.limit = bytes_of_gib(device.memory_gib);
  const std::vector<std::int64_t> weights = weight_bytes_by_rank(plan, model, layout), staging = staging_bytes(plan);
  const std::int64_t reserved = need.limit > 0 ? bytes_of_gib(device.reserved_gib) : 0;
  for (std::size_t r = 0; r < weights.size(); ++r)
    need.ranks.push_back({r < activations.size() ? activations[r] : 0, weights[r], staging[r], reserved});
  return need;
}

MemoryNeed memory_need(const Plan& plan, const Model& model, WeightLayout layout, const DeviceProfile& device) {
  return memory_need(plan, memory_bound(plan), model, layout, device);
}

}  // namespace spscope
