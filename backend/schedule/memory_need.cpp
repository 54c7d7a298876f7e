#include "backend/schedule/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backend/base/dtype.h"
#include "backend/base/ids.h"
#include "backend/config/model_companions.h"
#include "backend/config/model_size.h"
#include "backend/config/profile_layers.h"
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

// What the cluster's implementation holds at once of a rank's tokens.
std::int64_t working_bytes(const Plan& plan, const Model& model, const ClusterPreset& cluster) {
  const ImplementationProfile* code = find_implementation(cluster.implementation);
  const double of_channel = code != nullptr ? code->working_bytes.value : 0;
  if (of_channel == 0) return 0;
  const std::int64_t tokens = (model.tokens() + plan.ranks - 1) / plan.ranks;
  return std::llround((of_channel + model.more_working_bytes) * static_cast<double>(tokens * model.batch) *
                      model.hidden);
}

std::string gib_text(std::int64_t bytes, int digits) {
  return fmt::format("{:.{}f}", static_cast<double>(bytes) / kGib, digits);
}

// The bytes in units of 10^-digits GiB, so that the rounded parts add up to their rounded sum: those that are cut by
// most are rounded up.
std::vector<std::int64_t> rounded_parts(std::span<const std::int64_t> parts, int digits) {
  const double unit = kGib / std::pow(10.0, digits);
  std::vector<std::int64_t> units;
  for (const std::int64_t bytes : parts) units.push_back(static_cast<std::int64_t>(static_cast<double>(bytes) / unit));
  const auto sum = [](const auto& list) { return std::accumulate(list.begin(), list.end(), std::int64_t{0}); };
  for (std::int64_t left = std::llround(static_cast<double>(sum(parts)) / unit) - sum(units); left > 0; --left) {
    std::vector<double> cut;
    for (std::size_t i = 0; i < units.size(); ++i)
      cut.push_back(static_cast<double>(parts[i]) / unit - static_cast<double>(units[i]));
    ++units[static_cast<std::size_t>(std::ranges::max_element(cut) - cut.begin())];
  }
  return units;
}

}  // namespace

std::string_view verdict_name(MemoryVerdict verdict) {
  constexpr std::string_view kNames[] = {"fits", "fits_alone", "does_not_fit"};
  return kNames[static_cast<std::size_t>(verdict)];
}

int MemoryNeed::fullest() const {
  return static_cast<int>(std::ranges::max_element(ranks, {}, &RankMemory::total) - ranks.begin());
}

std::int64_t MemoryNeed::vae_bytes() const {
  const RankMemory& memory = ranks[at(fullest())];
  return uncounted.vae + std::max<std::int64_t>(0, uncounted.vae_decoding - memory.activations - memory.staging);
}

std::int64_t MemoryNeed::with_uncounted() const {
  return ranks[at(fullest())].total() + uncounted.text_encoder + vae_bytes();
}

MemoryVerdict MemoryNeed::verdict() const {
  if (!fits()) return MemoryVerdict::kDoesNotFit;
  return limit == 0 || with_uncounted() <= limit ? MemoryVerdict::kFits : MemoryVerdict::kFitsAlone;
}

Elsewhere MemoryNeed::elsewhere() const {
  if (verdict() != MemoryVerdict::kFitsAlone) return {};
  const std::int64_t alone = ranks[at(fullest())].total(), vae = vae_bytes();
  if (vae > 0 && alone + uncounted.text_encoder <= limit) return {false, true};
  if (uncounted.text_encoder > 0 && alone + vae <= limit) return {true, false};
  return {uncounted.text_encoder > 0, vae > 0};
}

std::int64_t MemoryNeed::margin() const {
  const auto [encoder, vae] = elsewhere();
  const bool alone = verdict() == MemoryVerdict::kDoesNotFit;
  return limit - ranks[at(fullest())].total() - (alone || encoder ? 0 : uncounted.text_encoder) -
         (alone || vae ? 0 : vae_bytes());
}

bool MemoryNeed::tight() const {
  return limit > 0 && fits() && static_cast<double>(margin()) < kTightShare * static_cast<double>(limit);
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
  constexpr const char* kNames[] = {"activations", "weights", "text encoder", "other", "staging", "reserved"};
  const std::int64_t bytes[] = {memory.activations, memory.weights, memory.text_encoder,
                                memory.other,       memory.staging, memory.reserved};
  const std::vector<std::int64_t> units = rounded_parts(bytes, digits);
  const auto text = [digits](std::int64_t n) {
    return fmt::format("{:.{}f}", static_cast<double>(n) / std::pow(10.0, digits), digits);
  };
  std::string parts;
  for (std::size_t i = 0; i < units.size(); ++i)
    if (bytes[i] > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", text(units[i]), kNames[i]);
  return fmt::format("needs {}{} GiB, at rank {}: {}",
                     text(std::accumulate(units.begin(), units.end(), std::int64_t{0})),
                     need.limit > 0 ? " of " + limit : "", rank, parts);
}

std::string fit_text(const MemoryNeed& need) {
  const std::int64_t encoder = need.uncounted.text_encoder, vae = need.vae_bytes();
  const auto named = [](bool of_encoder, bool of_vae) -> std::string {
    return of_encoder && of_vae ? "text encoder and VAE" : of_encoder ? "text encoder" : "VAE";
  };
  std::string text = "does not fit";
  if (need.verdict() == MemoryVerdict::kFitsAlone) {
    const auto [encoder_out, vae_out] = need.elsewhere();
    const bool one_stays = (encoder > 0 && !encoder_out) || (vae > 0 && !vae_out);
    const std::string stays = one_stays ? fmt::format("together with the {}, but ", named(vae_out, !vae_out)) : "";
    text = fmt::format("fits {}only with the {} elsewhere{}", stays, named(encoder_out, vae_out),
                       encoder_out ? "" : " or decoding in tiles");
  } else if (need.verdict() == MemoryVerdict::kFits) {
    text = encoder + vae > 0 ? fmt::format("fits together with the {}", named(encoder > 0, vae > 0)) : "fits";
  }
  if (need.fits()) text += fmt::format(", with {} GiB to spare", gib_text(need.margin(), 1));
  if (need.tight()) text += ", which is tight";
  return text;
}

std::string verdict_text(const MemoryNeed& need) {
  const std::int64_t encoder = need.uncounted.text_encoder, vae = need.vae_bytes();
  const bool encoder_unknown = need.uncounted.text_encoder_unknown, vae_unknown = need.uncounted.vae_unknown;
  std::string parts;
  if (encoder > 0) parts = fmt::format("The text encoder takes about {} GiB", gib_text(encoder, 1));
  if (vae > 0)
    parts += fmt::format("{} up to {} GiB while it decodes, in place of the activations",
                         parts.empty() ? "The VAE takes" : ", and the VAE",
                         gib_text(need.uncounted.vae + need.uncounted.vae_decoding, 1));
  if (encoder_unknown || vae_unknown)
    parts += fmt::format("{}The size{} not known here", parts.empty() ? "" : ". ",
                         encoder_unknown && vae_unknown ? "s of the text encoder and VAE are"
                         : encoder_unknown              ? " of the text encoder is"
                                                        : " of the VAE is");
  return parts.empty() ? fit_text(need) : fit_text(need) + ". " + parts;
}

std::vector<std::int64_t> weight_bytes_by_rank(const Plan& plan, const Model& model, const RunSection& run, int plans) {
  const ModelSize size = model_size(model);
  const std::vector<Shares> shares = weight_shares(plan);
  const int sharing = plan.ranks * plans;
  const bool sharded = run.weights == WeightLayout::kSharded && sharing > 1;
  const double stored = weight_bytes(run), gathered = std::min<double>(stored, dtype_bytes(plan.dtype));
  std::vector<std::int64_t> bytes;
  for (const auto& [heads, ffn] : shares) {
    const bool cut = heads.cut() || ffn.cut();
    std::int64_t held = 0, common = size.modulation + size.outside, whole = 0;
    (cut ? held : common) += heads.of(size.attention) + ffn.of(size.ffn);
    if (!sharded) {
      held += common;
    } else {
      const std::int64_t layer = cut ? size.largest_layer_modulation : size.largest_layer;
      held += (common + sharing - 1) / sharing;
      whole = std::min(model.layers, kGatheredLayers) * layer + size.outside;
    }
    bytes.push_back(
        std::llround(static_cast<double>(held) * stored * model.experts + static_cast<double>(whole) * gathered));
  }
  return bytes;
}

MemoryNeed memory_need(const Plan& plan, std::span<const std::int64_t> activations, const Model& model,
                       const RunSection& run, const ClusterPreset& cluster, int plans) {
  MemoryNeed need;
  need.limit = bytes_of_gib(cluster.device.memory_gib);
  const std::vector<std::int64_t> weights = weight_bytes_by_rank(plan, model, run, plans),
                                  staging = staging_bytes(plan);
  const std::int64_t reserved = need.limit > 0 ? bytes_of_gib(cluster.device.reserved_gib) : 0;
  const std::int64_t working = working_bytes(plan, model, cluster), other = bytes_of_gib(run.other_gib);
  const Companions beside = companions(model);
  // One that is on no GPU needs no size.
  const bool encoder_unknown = beside.text_encoder_unknown && run.text_encoder != TextEncoderPlace::kCpu;
  need.uncounted = {0, beside.vae, beside.decoding, encoder_unknown, beside.vae_unknown};
  std::int64_t text_encoder = 0;
  switch (run.text_encoder) {
    case TextEncoderPlace::kUnknown:
      need.uncounted.text_encoder = beside.text_encoder;
      break;
    case TextEncoderPlace::kGpu:
      text_encoder = beside.text_encoder;
      break;
    case TextEncoderPlace::kCpu:
      break;
    case TextEncoderPlace::kSharded:
      text_encoder = (beside.text_encoder + plan.ranks * plans - 1) / (plan.ranks * plans);
      break;
  }
  for (std::size_t r = 0; r < weights.size(); ++r)
    need.ranks.push_back({std::max(r < activations.size() ? activations[r] : 0, working), weights[r], staging[r],
                          reserved, text_encoder, other});
  return need;
}

MemoryNeed memory_need(const Plan& plan, const Model& model, const RunSection& run, const ClusterPreset& cluster,
                       int plans) {
  return memory_need(plan, memory_bound(plan), model, run, cluster, plans);
}

}  // namespace spscope
