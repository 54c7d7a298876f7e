// Pattern `radial`: Radial Attention (arXiv 2506.19852; radial_attn/attn_mask.py of its code at 72788d4), one mask for
// all heads. A pair of frames D apart keeps a band around its diagonal: everything for D <= 1, else tokens whose
// positions in their frames differ by at most
//     max(w0 decay_factor, block),  w0 = 2^bit_length(tokens a frame) / 2^bit_length(D);
// when w0 < 128, only every int(128 / w0)-th D is kept. Every query attends to the first frame. A block is kept when
// more than 60 % of its key tokens that any query of the block meets are met by more than a third of them; the diagonal
// always.
//
// decay_factor = 0 selects the factor whose density is nearest to the requested one, by bisection on sampled rows. The
// rule keeps some pairs at any factor (neighbouring frames, the first frame) and drops some at any factor (frames far
// apart), which limits the possible densities. Nothing is fitted. Static; blocks there have 128 tokens.
#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/mask/pattern_parts.h"

namespace spscope {
namespace {

constexpr std::int64_t kNarrow = 128;  // tokens; the source's limit for w0
constexpr int kSampledRows = 24, kBisections = 20;

// Consecutive tokens of one frame.
struct Run {
  std::int64_t frame, begin, end;
};

class Rule {
 public:
  explicit Rule(const PatternRequest& request)
      : frame_tokens_(std::int64_t{request.grid[1]} * request.grid[2]),
        tokens_(request.grid[0] * frame_tokens_),
        block_(request.block),
        first_frame_(request.parameters.flag("first_frame")) {}

  void set_decay(double decay) { decay_ = decay; }
  int blocks() const { return static_cast<int>((tokens_ + block_ - 1) / block_); }

  // Whether the rule keeps the block of these queries and keys.
  bool keeps(std::int64_t q, std::int64_t k) {
    if (q == k) return true;
    runs_of(q, q_runs_);
    runs_of(k, k_runs_);
    const std::int64_t queries = std::min(block_, tokens_ - q * block_);
    met_.clear();
    for (const Run& keys : k_runs_) {
      const std::size_t base = met_.size();
      met_.resize(base + static_cast<std::size_t>(keys.end - keys.begin), 0);
      if (first_frame_ && keys.frame == 0) {
        std::fill(met_.begin() + static_cast<std::ptrdiff_t>(base), met_.end(), queries);
        continue;
      }
      for (const Run& rows : q_runs_) count(rows, keys, std::span(met_).subspan(base));
    }
    std::int64_t met = 0, well_met = 0;
    for (std::int64_t of_key : met_) {
      met += of_key > 0;
      well_met += 3 * of_key > queries;
    }
    return 10 * well_met > 6 * met;
  }

 private:
  void runs_of(std::int64_t block, std::vector<Run>& runs) const {
    runs.clear();
    const std::int64_t end = std::min((block + 1) * block_, tokens_);
    for (std::int64_t token = block * block_; token < end;) {
      const std::int64_t frame = token / frame_tokens_, next = std::min(end, (frame + 1) * frame_tokens_);
      runs.push_back({frame, token - frame * frame_tokens_, next - frame * frame_tokens_});
      token = next;
    }
  }

  // Half-width of the band of two frames, in tokens; negative: no band.
  std::int64_t half_width(std::int64_t distance) const {
    if (distance <= 1) return frame_tokens_;
    const double w0 = std::exp2(std::bit_width(static_cast<std::uint64_t>(frame_tokens_)) -
                                std::bit_width(static_cast<std::uint64_t>(distance)));
    if (w0 < kNarrow && distance % static_cast<std::int64_t>(kNarrow / w0) != 0) return -1;
    return static_cast<std::int64_t>(
        std::min(std::max(w0 * decay_, static_cast<double>(block_)), static_cast<double>(frame_tokens_)));
  }

  // Adds to each key how many of the queries it meets.
  void count(const Run& rows, const Run& keys, std::span<std::int64_t> met) const {
    const std::int64_t width = half_width(std::abs(rows.frame - keys.frame));
    if (width < 0 || keys.begin - width >= rows.end || keys.end + width <= rows.begin) return;
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      const std::int64_t begin = std::max(rows.begin, key - width), end = std::min(rows.end, key + width + 1);
      met[static_cast<std::size_t>(key - keys.begin)] += std::max<std::int64_t>(0, end - begin);
    }
  }

  std::int64_t frame_tokens_, tokens_, block_;
  bool first_frame_;
  double decay_ = 1;
  std::vector<Run> q_runs_, k_runs_;
  std::vector<std::int64_t> met_;  // by key token of the block
};

double sampled_density(Rule& rule, double decay) {
  rule.set_decay(decay);
  const int blocks = rule.blocks(), samples = std::min(kSampledRows, blocks);
  double kept = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const std::int64_t q = (2 * std::int64_t{sample} + 1) * blocks / (2 * samples);
    for (int k = 0; k < blocks; ++k) kept += rule.keeps(q, k);
  }
  return kept / (static_cast<double>(samples) * blocks);
}

double nearest_decay(Rule& rule, double density) {
  double low = std::log(1e-4), high = std::log(1e4);
  for (int round = 0; round < kBisections; ++round) {
    const double middle = (low + high) / 2;
    (sampled_density(rule, std::exp(middle)) < density ? low : high) = middle;
  }
  auto distance = [&](double x) { return std::abs(sampled_density(rule, std::exp(x)) - density); };
  return std::exp(distance(low) < distance(high) ? low : high);
}

}  // namespace

std::vector<Parameter> parameters_radial() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::real("decay_factor", 0.0, 0, 1e4,
                                 "width of the bands: 0.2 is Wan2.1, 0.95 HunyuanVideo; 0: nearest to mask.density"));
  rows.push_back(Parameter::flag("first_frame", true, "every query attends to the first frame"));
  return rows;
}

std::vector<Problem> check_radial(const PatternRequest& request) { return check_request(request); }

BlockMask generate_radial(const PatternRequest& request) {
  if (is_warmup(request)) return all_active(request);
  Rule rule(request);
  const double decay = request.parameters.real("decay_factor");
  rule.set_decay(decay > 0 ? decay : nearest_decay(rule, video_density(request)));
  BlockMask mask(request.heads, block_starts(request));
  for (int q = 0; q < rule.blocks(); ++q) {
    const std::span<std::uint64_t> row = mask.mutable_row(0, q);
    for (int k = 0; k < rule.blocks(); ++k) row[k / 64] |= std::uint64_t{rule.keeps(q, k)} << (k % 64);
    for (int head = 1; head < request.heads; ++head) std::ranges::copy(row, mask.mutable_row(head, q).begin());
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
