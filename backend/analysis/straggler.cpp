#include "backend/analysis/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "backend/base/number_text.h"

namespace spscope {
namespace {

std::int64_t mean_of(std::span<const std::int64_t> by_rank) {
  return std::accumulate(by_rank.begin(), by_rank.end(), std::int64_t{0}) / static_cast<std::int64_t>(by_rank.size());
}

// By rank that is late: whom it holds up, and how long.
using Holds = std::map<int, std::map<int, std::int64_t>>;
Holds holds_of(std::span<const RankWait> waits) {
  Holds holds;
  for (const RankWait& wait : waits)
    if (wait.rank != wait.late_rank) holds[wait.late_rank][wait.rank] += wait.wait_ns;
  return holds;
}

std::vector<HeldUp> held_up_by(int rank, const Holds& holds) {
  std::vector<HeldUp> held_up;
  const auto found = holds.find(rank);
  if (found == holds.end()) return held_up;
  for (const auto& [held, ns] : found->second) held_up.push_back({held, ns});
  std::ranges::stable_sort(held_up, std::greater(), &HeldUp::wait_ns);
  return held_up;
}

}  // namespace

std::string excess_text(const Straggler& s) {
  std::string text;
  const auto add = [&](std::int64_t ns, std::string_view more, std::string_view less) {
    if (ns == 0) return;
    text += fmt::format("{}{}{} by {}", text.empty() ? "" : ", ", duration_text(std::abs(static_cast<double>(ns))),
                        ns < 0 ? " less" : "", ns < 0 ? less : more);
  };
  add(s.more_tiles_ns, "more tiles", "fewer tiles");
  const bool named = s.more_tiles_ns != 0;
  add(s.slower_tiles_ns, named ? "slower ones" : "slower tiles", named ? "faster ones" : "faster tiles");
  add(s.other_ns, "other compute", "other compute");
  return text;
}

std::vector<Straggler> stragglers(const RankLoads& loads, std::span<const RankWait> waits) {
  std::vector<Straggler> list;
  if (loads.compute_ns.empty()) return list;
  const std::int64_t mean_compute_ns = mean_of(loads.compute_ns), mean_attention_ns = mean_of(loads.attention_ns);
  const double mean_tiles =
      std::accumulate(loads.tiles.begin(), loads.tiles.end(), 0.0) / static_cast<double>(loads.tiles.size());
  const Holds holds = holds_of(waits);
  for (std::size_t r = 0; r < loads.compute_ns.size(); ++r) {
    Straggler s;
    s.rank = static_cast<int>(r);
    s.compute_ns = loads.compute_ns[r];
    s.excess_ns = s.compute_ns - mean_compute_ns;
    if (s.excess_ns <= 0) continue;
    s.tiles = loads.tiles[r];
    s.mean_tiles = mean_tiles;
    if (mean_tiles > 0)
      s.more_tiles_ns = std::llround((s.tiles / mean_tiles - 1) * static_cast<double>(mean_attention_ns));
    s.slower_tiles_ns = loads.attention_ns[r] - mean_attention_ns - s.more_tiles_ns;
    s.other_ns = s.excess_ns - s.more_tiles_ns - s.slower_tiles_ns;
    s.held_up = held_up_by(s.rank, holds);
    for (const HeldUp& held : s.held_up) s.held_up_ns += held.wait_ns;
    list.push_back(std::move(s));
  }
  std::ranges::stable_sort(list, std::greater(), &Straggler::excess_ns);
  return list;
}

}  // namespace spscope
