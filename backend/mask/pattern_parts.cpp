#include "backend/mask/pattern_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/base/check.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

std::int64_t num_blocks(std::int64_t tokens, int block) { return (tokens + block - 1) / block; }

void check_memory(const PatternRequest& request, const PatternScratch& scratch, std::int64_t video_tokens,
                  std::vector<Problem>& problems) {
  const std::int64_t video_blocks =
      scratch.video_blocks > 0 ? scratch.video_blocks : num_blocks(video_tokens, request.block);
  const std::int64_t blocks = video_blocks + num_blocks(request.text_tokens, request.block);
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
            "most patterns are made for 64 or 128");
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
  return {Parameter::real("dense_steps", 0.0, 0, 1, "share of the denoise steps, from the first, that stay dense"),
          Parameter::integer("dense_layers", 0, 0, 1000, "", "layers, from the first, that stay dense")};
}

bool is_warmup(const PatternRequest& request) {
  return request.denoise_step < request.parameters.real("dense_steps") * request.denoise_steps ||
         request.layer < request.parameters.integer("dense_layers");
}

std::vector<std::int32_t> block_starts(const PatternRequest& request) {
  const int video_tokens = request.tokens() - request.text_tokens;
  std::vector<std::int32_t> starts = BlockMask::uniform_starts(video_tokens, request.block);
  append_text(starts, request);
  return starts;
}

void append_text(std::vector<std::int32_t>& starts, const PatternRequest& request) {
  if (request.text_tokens == 0) return;
  const std::int32_t video_tokens = starts.back();
  const std::vector<std::int32_t> text = BlockMask::uniform_starts(request.text_tokens, request.block);
  for (std::size_t i = 1; i < text.size(); ++i) starts.push_back(video_tokens + text[i]);
}

void set_blocks(std::span<std::uint64_t> row, std::int32_t begin, std::int32_t end) {
  for (std::int32_t word = begin / 64; begin < end && word * 64 < end; ++word) {
    const std::int32_t first = std::max(begin - word * 64, 0), last = std::min(end - word * 64, 64);
    row[word] |= (~std::uint64_t{0} >> (64 - (last - first))) << first;
  }
}

BlockMask all_active(int heads, std::vector<std::int32_t> starts) {
  BlockMask mask(heads, std::move(starts));
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.blocks(); ++q) set_blocks(mask.mutable_row(head, q), 0, mask.blocks());
  }
  return mask;
}

BlockMask all_active(const PatternRequest& request) { return all_active(request.heads, block_starts(request)); }

int num_video_blocks(const PatternRequest& request) {
  return static_cast<int>(num_blocks(request.tokens() - request.text_tokens, request.block));
}

double video_density(const PatternRequest& request) {
  const double all = request.tokens(), video = all - request.text_tokens;
  const double text_area = all * all - video * video;
  return std::clamp((request.density * all * all - text_area) / (video * video), 0.0, 1.0);
}

void fill_text(BlockMask& mask, const PatternRequest& request) {
  std::int32_t video_blocks = mask.blocks();
  while (video_blocks > 0 && mask.block(video_blocks - 1).begin >= request.tokens() - request.text_tokens) {
    --video_blocks;
  }
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.blocks(); ++q) {
      set_blocks(mask.mutable_row(head, q), q < video_blocks ? video_blocks : 0, mask.blocks());
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

std::vector<float> layer_profile(const PatternRequest& request, int purpose, double strength, std::size_t blocks) {
  Rng rng = rng_of(request, 0, purpose);
  std::vector<float> profile(blocks, 0.0F);
  for (int wave = 1; wave <= 3; ++wave) {
    const double amplitude = strength * rng.normal() / wave;
    for (std::size_t i = 0; i < blocks; ++i) {
      const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(blocks);
      profile[i] += static_cast<float>(amplitude * std::cos(std::numbers::pi * wave * x));
    }
  }
  return profile;
}

Rng rng_of(const PatternRequest& request, int head, int purpose) {
  const std::uint64_t key = (static_cast<std::uint64_t>(request.layer) << 40) ^
                            (static_cast<std::uint64_t>(head) << 16) ^ static_cast<std::uint64_t>(purpose);
  return Rng(request.seed, key);
}

}  // namespace spscope
