// Stragglers: the ranks that compute longer than the mean, and what makes them.
//
// With C the compute, A the attention and T the tiles of a rank, and means over ranks with a bar, the excess of a rank
// is
//   C - C' = (T - T') A' / T'        more tiles, at the mean speed of all ranks
//          + (A - A' - that)         slower tiles: its attention beyond that, by other shapes, cores or clocks
//          + (C - A) - (C' - A')     other compute than attention
// each in whole nanoseconds, so that the three add up to the excess.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/analysis/time_terms.h"

namespace spscope {

struct HeldUp {
  int rank = 0;
  std::int64_t wait_ns = 0;
  friend bool operator==(const HeldUp&, const HeldUp&) = default;
};

struct Straggler {
  int rank = 0;
  std::int64_t compute_ns = 0;
  std::int64_t excess_ns = 0;                                         // above the mean over ranks, rounded up; > 0
  std::int64_t more_tiles_ns = 0, slower_tiles_ns = 0, other_ns = 0;  // their sum; each may be below 0
  double tiles = 0, mean_tiles = 0;                                   // active, by area
  std::string heads;                                                  // that it attends: "5-9, 12"; "": all heads
  // Of the masks, mean over its heads and over all heads, 0 to 1; absent when the mask is not known.
  std::optional<double> density, mean_density;
  std::vector<HeldUp> held_up;  // longest first; of equal ones the lower rank
  std::int64_t held_up_ns = 0;  // their sum
};

// By rank, of one layer pass or several.
struct RankLoads {
  std::span<const std::int64_t> compute_ns, attention_ns;
  std::span<const double> tiles;
};

// What the excess of a rank consists of, each part as what it adds or takes off: "1.20 ms by more tiles, 36.5 us less
// by faster ones".
std::string excess_text(const Straggler& straggler);

// The ranks with more compute than the mean, most first; `heads` and densities are left out.
// REQUIRES: lists of equal length.
std::vector<Straggler> stragglers(const RankLoads& loads, std::span<const RankWait> waits);

}  // namespace spscope
