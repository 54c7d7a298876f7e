// Pattern `sta`: Sliding Tile Attention (arXiv 2502.04507). Tokens are ordered by tiles of (6, 8, 8); a tile of queries
// attends to a window of tiles around it, shifted inside at the borders, so that all rows have equally many
// tiles. Tiles are cut into blocks of the requested size: with 384 tokens a tile is one block, as in the released
// kernel.
//
// Heads have one of the five windows in FastVideo's mask_strategy_hunyuan.json (HunyuanVideo; 2025, not in its
// 2f3d407), as fractions of its 5 x 6 x 10 tiles and with its frequencies. To meet the requested density all windows
// grow or shrink by one factor; a head whose window would lie between two sizes takes one or the other. With few tiles
// and heads the nearest possible density is taken. From one denoise step to the next 1 to 8 % of the heads change in
// that table; the default of `change` is in the middle.
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/tile_order.h"

namespace spscope {
namespace {

using Window = std::array<int, 3>;  // tiles along frames, height, width

struct Kind {
  std::array<double, 3> part;  // of the tiles along each axis
  double heads;                // in the released table
};
constexpr std::array<Kind, 5> kKinds = {{{{1, 3.0 / 6, 3.0 / 10}, 20380},
                                         {{1.0 / 5, 1, 1}, 15916},
                                         {{3.0 / 5, 3.0 / 6, 5.0 / 10}, 7396},
                                         {{1, 1.0 / 6, 1}, 5244},
                                         {{1, 1, 1.0 / 10}, 1464}}};
constexpr int kKindOfHead = 1, kBisections = 40;

std::array<int, 3> tile_of(const PatternRequest& request) {
  const Parameters& p = request.parameters;
  return {p.integer("tile_frames"), p.integer("tile_height"), p.integer("tile_width")};
}

// The tiles [first, first + width) that tile `at` of `count` sees.
int window_begin(int at, int width, int count) { return std::clamp(at - width / 2, 0, count - width); }

// Share of the pairs of tokens along an axis that a window keeps. All tiles but the last are equal, and the last is in
// the windows of the last ceil(width / 2) tiles, which end there.
double kept_share(const std::vector<std::int32_t>& sizes, int width) {
  const auto count = static_cast<double>(sizes.size()), size = static_cast<double>(sizes.front()),
             last = static_cast<double>(sizes.back());
  const double reaching = width == static_cast<int>(sizes.size()) ? count : (width + 1) / 2;
  const double tokens = (count - 1) * size + last;
  const double pairs =
      (count - reaching) * size * width * size + ((reaching - 1) * size + last) * ((width - 1) * size + last);
  return pairs / (tokens * tokens);
}

// Windows of one kind from a single tile to all, each one tile wider than the one before along one axis; through the
// released window when the video has as many tiles.
struct Ladder {
  std::vector<Window> windows;
  std::vector<double> density;  // ascending
};

Ladder ladder_of(const Kind& kind, const TileOrder& order) {
  Window released, window;
  auto filled = [&order](const Window& w, int axis) { return static_cast<double>(w[axis]) / order.count(axis); };
  for (int axis = 0; axis < 3; ++axis) {
    released[axis] =
        std::clamp(static_cast<int>(std::lround(kind.part[axis] * order.count(axis))), 1, order.count(axis));
  }
  Ladder ladder;
  for (window = released;;) {  // downwards, the fullest axis first
    ladder.windows.push_back(window);
    int fullest = -1;
    for (int axis = 0; axis < 3; ++axis) {
      if (window[axis] > 1 && (fullest < 0 || filled(window, axis) > filled(window, fullest))) fullest = axis;
    }
    if (fullest < 0) break;
    --window[fullest];
  }
  std::ranges::reverse(ladder.windows);
  for (window = released;;) {  // upwards, the emptiest axis first
    int emptiest = -1;
    for (int axis = 0; axis < 3; ++axis) {
      if (window[axis] < order.count(axis) && (emptiest < 0 || filled(window, axis) < filled(window, emptiest))) {
        emptiest = axis;
      }
    }
    if (emptiest < 0) break;
    ++window[emptiest];
    ladder.windows.push_back(window);
  }
  for (const Window& w : ladder.windows) {
    double density = 1;
    for (int axis = 0; axis < 3; ++axis) density *= kept_share(order.sizes[axis], w[axis]);
    ladder.density.push_back(density);
  }
  return ladder;
}

// The windows of all heads at one factor. Head by head the choice between two sizes falls so that on average a head has
// the density it should have.
class HeadWindows {
 public:
  HeadWindows(const PatternRequest& request, const TileOrder& order) {
    double all_heads = 0;
    for (const Kind& kind : kKinds) {
      ladders_.push_back(ladder_of(kind, order));
      all_heads += kind.heads;
    }
    for (int head = 0; head < request.heads; ++head) {
      double drawn = redrawn_uniform(request, head, kKindOfHead, request.parameters.real("change")) * all_heads;
      std::size_t kind = 0;
      for (; kind + 1 < kKinds.size() && drawn >= kKinds[kind].heads; ++kind) drawn -= kKinds[kind].heads;
      kinds_.push_back(kind);
    }
  }

  // Index of the head's window on the ladder of its kind.
  std::size_t rung(std::size_t head, double factor) const {
    const auto& [fx, fy, fz] = kKinds[kinds_[head]].part;
    const std::vector<double>& density = ladders_[kinds_[head]].density;
    const double wanted = factor * fx * fy * fz;
    const auto above = std::upper_bound(density.begin(), density.end(), wanted);
    if (above == density.begin()) return 0;
    if (above == density.end()) return density.size() - 1;
    const double share = (wanted - above[-1]) / (above[0] - above[-1]);
    const double golden = static_cast<double>(head + 1) * 0.6180339887498949;  // evenly spread over heads
    return static_cast<std::size_t>(above - density.begin()) - (golden - std::floor(golden) < share ? 0 : 1);
  }
  double mean_density(double factor) const {
    double sum = 0;
    for (std::size_t head = 0; head < kinds_.size(); ++head) sum += ladders_[kinds_[head]].density[rung(head, factor)];
    return sum / static_cast<double>(kinds_.size());
  }
  const Window& window(std::size_t head, double factor) const {
    return ladders_[kinds_[head]].windows[rung(head, factor)];
  }

 private:
  std::vector<Ladder> ladders_;
  std::vector<std::size_t> kinds_;
};

double nearest_factor(const HeadWindows& windows, double density) {
  double low = std::log(1e-9), high = std::log(1e3);
  for (int round = 0; round < kBisections; ++round) {
    const double middle = (low + high) / 2;
    (windows.mean_density(std::exp(middle)) < density ? low : high) = middle;
  }
  auto distance = [&](double x) { return std::abs(windows.mean_density(std::exp(x)) - density); };
  return std::exp(distance(low) < distance(high) ? low : high);
}

// Borders of video blocks, and the first block of each tile, then the number of video blocks.
struct Cuts {
  std::vector<std::int32_t> starts = {0}, first_block = {0};
};

Cuts cut_tiles(const TileOrder& order, int block) {
  Cuts cuts;
  for (int tile = 0; tile < order.tiles(); ++tile) {
    const std::int32_t end = order.starts[tile + 1];
    while (cuts.starts.back() < end) cuts.starts.push_back(std::min(cuts.starts.back() + block, end));
    cuts.first_block.push_back(static_cast<std::int32_t>(cuts.starts.size()) - 1);
  }
  return cuts;
}

void fill_tile(const TileOrder& order, const Cuts& cuts, const Window& window, const std::array<int, 3>& at, int head,
               BlockMask& mask) {
  std::array<int, 3> begin;
  for (int axis = 0; axis < 3; ++axis) begin[axis] = window_begin(at[axis], window[axis], order.count(axis));
  std::vector<std::uint64_t> row(mask.words_per_row(), 0);
  for (int frame = begin[0]; frame < begin[0] + window[0]; ++frame) {
    for (int y = begin[1]; y < begin[1] + window[1]; ++y) {
      const int first = order.tile(frame, y, begin[2]);
      set_blocks(row, cuts.first_block[first], cuts.first_block[first + window[2]]);
    }
  }
  const int tile = order.tile(at[0], at[1], at[2]);
  for (std::int32_t q = cuts.first_block[tile]; q < cuts.first_block[tile + 1]; ++q) {
    std::ranges::copy(row, mask.mutable_row(head, q).begin());
  }
}

}  // namespace

std::vector<Parameter> parameters_sta() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::integer("tile_frames", 6, 1, 4096, "tokens", "extent of a tile along frames"));
  rows.push_back(Parameter::integer("tile_height", 8, 1, 4096, "tokens", "extent of a tile along the height"));
  rows.push_back(Parameter::integer("tile_width", 8, 1, 4096, "tokens", "extent of a tile along the width"));
  rows.push_back(
      Parameter::real("change", 0.04, 0, 1, "share of the heads whose window is drawn anew at a denoise step"));
  return rows;
}

std::vector<Problem> check_sta(const PatternRequest& request) {
  std::vector<Problem> problems = check_request(request);
  if (!problems.empty()) return problems;
  return check_request(request, {.video_blocks = num_tile_blocks(request.grid, tile_of(request), request.block)});
}

BlockMask generate_sta(const PatternRequest& request) {
  const TileOrder order = tile_order(request.grid, tile_of(request));
  Cuts cuts = cut_tiles(order, request.block);
  std::vector<std::int32_t> starts = cuts.starts;
  append_text(starts, request);
  if (is_warmup(request)) return all_active(request.heads, std::move(starts));
  BlockMask mask(request.heads, std::move(starts));
  const HeadWindows windows(request, order);
  const double factor = nearest_factor(windows, video_density(request));
  for (int head = 0; head < request.heads; ++head) {
    const Window& window = windows.window(head, factor);
    for (int frame = 0; frame < order.count(0); ++frame) {
      for (int y = 0; y < order.count(1); ++y) {
        for (int x = 0; x < order.count(2); ++x) fill_tile(order, cuts, window, {frame, y, x}, head, mask);
      }
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
