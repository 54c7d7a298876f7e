#include "backend/mask/pattern_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/base/check.h"

namespace spscope {
namespace {

std::int64_t num_blocks(std::int64_t tokens, int block) { return (tokens + block - 1) / block; }

void check_memory(const PatternRequest& request, const PatternScratch& scratch, std::int64_t video_tokens,
                  std::vector<Problem>& problems) {
  const std::int64_t blocks = num_blocks(video_tokens, request.block) + num_blocks(request.text_tokens, request.block);
  const double bits = static_cast<double>(request.heads) * blocks * ((blocks + 63) / 64) * 8;
  const double beside = static_cast<double>(request.heads) * (static_cast<double>(scratch.bytes_per_head) +
                                                              static_cast<double>(scratch.bytes_per_block) * blocks);
  const double bytes = bits + beside;
  if (bytes <= static_cast<double>(kMaxMaskBytes)) return;
  problems.push_back({ErrorCode::kMaskTooLarge,
                      "mask.block",
                      fmt::format("a mask of {} heads and {} blocks needs {:.1f} GiB, the limit is {} GiB",
                                  request.heads, blocks, bytes / (1 << 30), kMaxMaskBytes >> 30),
                      fmt::format("use larger blocks than {} tokens, a smaller grid or fewer heads", request.block),
                      {}});
}

// Unsigned numbers in the order of the floats: the sign bit flipped, and all bits of negative ones.
constexpr std::uint32_t kSignBit = 1U << 31;
std::uint32_t ordered_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
float from_ordered_bits(std::uint32_t bits) {
  return std::bit_cast<float>((bits & kSignBit) != 0 ? bits & ~kSignBit : ~bits);
}

}  // namespace

std::vector<Problem> check_request(const PatternRequest& request, const PatternScratch& scratch) {
  std::vector<Problem> problems;
  auto outside = [&problems](std::string field, std::string message, std::string hint) {
    problems.push_back({ErrorCode::kConfigRange, std::move(field), std::move(message), std::move(hint), {}});
  };
  if (request.heads < 1) outside("model.heads", fmt::format("heads = {} is below 1", request.heads), "use at least 1");
  std::int64_t video_tokens = 1;
  for (int extent : request.grid) {
    if (extent < 1) {
      outside("model.grid", fmt::format("a grid extent of {} is below 1", extent), "give frames, height, width");
      return problems;
    }
    video_tokens = std::min<std::int64_t>(video_tokens * extent, std::int64_t{1} << 31);
  }
  if (request.text_tokens < 0) {
    outside("model.text_tokens", fmt::format("text_tokens = {} is negative", request.text_tokens), "use 0 for no text");
    return problems;
  }
  if (video_tokens + request.text_tokens >= std::int64_t{1} << 31) {
    outside("model.grid", "the grid has 2^31 tokens or more", "use a smaller grid");
    return problems;
  }
  if (request.block < 1 || request.block > kMaxBlockTokens) {
    outside("mask.block", fmt::format("block = {} is outside 1 to {}", request.block, kMaxBlockTokens),
            "released systems use 64 or 128");
    return problems;
  }
  if (!(request.density > 0 && request.density <= 1)) {
    outside("mask.density", fmt::format("density = {} is outside (0, 1]", request.density),
            "give the active share of blocks, for example 0.4");
  }
  if (request.heads >= 1) check_memory(request, scratch, video_tokens, problems);
  return problems;
}

std::vector<Parameter> warmup_parameters() {
  return {{"dense_steps", 0.0, 0, 1, {}, "", "share of the denoise steps, from the first, that stay dense"},
          {"dense_layers", std::int64_t{0}, 0, 1000, {}, "", "layers, from the first, that stay dense"}};
}

bool is_warmup(const PatternRequest& request) {
  return request.denoise_step < request.parameters.real("dense_steps") * request.denoise_steps ||
         request.layer < request.parameters.integer("dense_layers");
}

std::vector<std::int32_t> block_starts(const PatternRequest& request) {
  const int video_tokens = request.tokens() - request.text_tokens;
  std::vector<std::int32_t> starts = BlockMask::uniform_starts(video_tokens, request.block);
  if (request.text_tokens == 0) return starts;
  const std::vector<std::int32_t> text = BlockMask::uniform_starts(request.text_tokens, request.block);
  for (std::size_t i = 1; i < text.size(); ++i) starts.push_back(video_tokens + text[i]);
  return starts;
}

BlockMask all_active(const PatternRequest& request) {
  BlockMask mask(request.heads, block_starts(request));
  std::vector<float> zeros(mask.blocks(), 0.0F);
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.blocks(); ++q) set_at_least(zeros, 0.0F, mask.mutable_row(head, q));
  }
  return mask;
}

int num_video_blocks(const PatternRequest& request) {
  return static_cast<int>(num_blocks(request.tokens() - request.text_tokens, request.block));
}

double video_density(const PatternRequest& request) {
  const double all = request.tokens(), video = all - request.text_tokens;
  const double text_area = all * all - video * video;
  return std::clamp((request.density * all * all - text_area) / (video * video), 0.0, 1.0);
}

void fill_text(BlockMask& mask, const PatternRequest& request) {
  const int video_blocks = num_video_blocks(request);
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.blocks(); ++q) {
      for (std::int32_t k = q < video_blocks ? video_blocks : 0; k < mask.blocks(); ++k) mask.set(head, q, k);
    }
  }
}

BlockPositions block_positions(const PatternRequest& request, std::array<int, 3> order) {
  std::array<std::int64_t, 3> extent;
  for (int d = 0; d < 3; ++d) extent[d] = request.grid[order[d]];
  const std::int64_t tokens = extent[0] * extent[1] * extent[2];
  BlockPositions positions;
  for (std::int64_t begin = 0; begin < tokens; begin += request.block) {
    const std::int64_t centre = (begin + std::min<std::int64_t>(begin + request.block, tokens)) / 2;
    const std::array<std::int64_t, 3> at = {centre / (extent[1] * extent[2]), centre / extent[2] % extent[1],
                                            centre % extent[2]};
    for (int d = 0; d < 3; ++d) {
      positions.along[d].push_back(static_cast<float>(at[d]) / static_cast<float>(extent[d]));
    }
  }
  return positions;
}

Rng rng_of(const PatternRequest& request, int head, int purpose) {
  const std::uint64_t key = (static_cast<std::uint64_t>(request.layer) << 40) ^
                            (static_cast<std::uint64_t>(head) << 16) ^ static_cast<std::uint64_t>(purpose);
  return Rng(request.seed, key);
}

float kth_highest(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row) {
  SPSCOPE_CHECK(k >= 1 && k <= static_cast<std::int64_t>(rows * columns));
  constexpr int kHalf = 16;
  std::vector<float> scores(columns);
  std::vector<std::int64_t> counts(std::size_t{1} << kHalf);
  // The highest digit from which on at least k scores are counted; leaves in k its place among those of that digit.
  auto highest_digit = [&] {
    std::size_t digit = counts.size() - 1;
    for (; counts[digit] < k; --digit) k -= counts[digit];
    return static_cast<std::uint32_t>(digit);
  };
  for (std::size_t row = 0; row < rows; ++row) {
    score_row(row, scores);
    for (float score : scores) ++counts[ordered_bits(score) >> kHalf];
  }
  const std::uint32_t upper = highest_digit();
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    score_row(row, scores);
    for (float score : scores) {
      const std::uint32_t bits = ordered_bits(score);
      if (bits >> kHalf == upper) ++counts[bits & 0xffffU];
    }
  }
  return from_ordered_bits(upper << kHalf | highest_digit());
}

void set_at_least(std::span<const float> scores, float threshold, std::span<std::uint64_t> row) {
  for (std::size_t first = 0; first < scores.size(); first += 64) {
    const std::size_t end = std::min(first + 64, scores.size());
    std::uint64_t word = 0;
    for (std::size_t j = first; j < end; ++j) word |= static_cast<std::uint64_t>(scores[j] >= threshold) << (j - first);
    row[first / 64] |= word;
  }
}

// Quickselect on weight: each round halves the candidates and keeps the half in which the running sum passes `cdf`.
int TopCdf::select(std::span<const float> logits, double cdf, std::span<std::uint64_t> row) {
  entries_.clear();
  const float highest = *std::max_element(logits.begin(), logits.end());
  if (std::isinf(highest)) return 0;
  double total = 0;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const float weight = std::exp(logits[j] - highest);
    if (weight > 0) entries_.push_back({weight, static_cast<std::int32_t>(j)});
    total += weight;
  }
  auto heavier = [](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.column < b.column;
  };
  // Invariant: the first `begin` entries are chosen and hold `chosen` weight; the answer ends in (begin, end].
  std::size_t begin = 0, end = entries_.size();
  double chosen = 0;
  const double wanted = cdf * total;
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(entries_.begin() + begin, entries_.begin() + middle, entries_.begin() + end, heavier);
    double half = 0;
    for (std::size_t i = begin; i < middle; ++i) half += entries_[i].weight;
    if (chosen + half >= wanted) {
      end = middle;
    } else {
      chosen += half;
      begin = middle;
    }
  }
  for (std::size_t i = 0; i < end; ++i) row[entries_[i].column / 64] |= std::uint64_t{1} << (entries_[i].column % 64);
  return static_cast<int>(end);
}

}  // namespace spscope
