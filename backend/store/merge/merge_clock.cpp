#include "backend/store/merge/merge_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "backend/base/clock_drift.h"
#include "backend/store/rank_repeats.h"

namespace spscope {

namespace {

constexpr std::int64_t kNotKnown = std::numeric_limits<std::int64_t>::max();

// What the shards say of clocks; what the head says goes before what a rank says.
struct Found {
  std::map<int, ClockFit> fits;
  std::map<const MergeSource*, ClockFit> of_sources;  // of the tracks of a shard that are not lanes of ranks
  std::map<int, std::vector<ClockSample>> samples;
  std::map<int, std::string> boots;  // boot id of the host of each rank
};

// Throws Error (kStoreCorrupt) for a line that no clock has: it would turn the order of events around.
double drift_of(const MergeSource& source, const Statement& fit) {
  const double drift = fit.real(3);
  if (std::abs(drift) <= kMaxClockDrift) return drift;
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": the clock of rank {} drifts by {} of its time",
                                                    source.path, fit.integer(0), drift));
}

void read_clocks(const MergeSource& source, Found& found, Damage& damage) {
  const auto read = [&](std::string_view table, std::string_view columns, auto&& take) {
    damage.read(source, table, [&] { return read_rows(source.database(), table, columns, take); });
  };
  read("clock_fit", "rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges", [&](const Statement& fit) {
    const ClockFit line{.raw_zero_ns = fit.integer(1),
                        .offset_ns = fit.integer(2),
                        .drift = drift_of(source, fit),
                        .bound_ns = fit.integer(4, 0, kNotKnown),
                        .exchanges = fit.integer(5, 0, kNotKnown)};
    if (fit.integer(0) == kNoRank)
      found.of_sources.emplace(&source, line);
    else
      found.fits.emplace(fit.count(0), line);
  });
  read("clock_exchange", "rank, sent_ns, remote_ns, received_ns", [&](const Statement& sample) {
    found.samples[sample.count(0)].push_back({sample.integer(1), sample.integer(2), sample.integer(3)});
  });
  read("rank_process", "rank, boot_id",
       [&](const Statement& process) { found.boots.emplace(process.count(0), process.text(1)); });
}

// Whether a track is on the clock that its shard gives, when it gives one.
bool is_on_own_clock(bool has_own_clock, const Track& track) {
  return has_own_clock && track.kind != TrackKind::kRankLane;
}

// The first moment on the clocks of ranks that a shard knows of, of one rank or of all. `has_own_clock`: its tracks
// that are not lanes of ranks are on another clock.
std::optional<std::int64_t> first_moment(const MergeSource& source, bool has_own_clock, std::optional<int> rank) {
  std::optional<std::int64_t> first_ns;
  const auto offer = [&](std::int64_t time_ns) { first_ns = std::min(first_ns.value_or(time_ns), time_ns); };
  for (const SourceTrack& track : source.tracks)
    if (!is_on_own_clock(has_own_clock, track.track) && (!rank || track.track.rank == *rank))
      for (const ChunkPlace& chunk : track.chunks) offer(chunk.header.begin_min_ns);
  if (source.db != nullptr)
    if (const std::optional<std::int64_t> pass_ns = first_rank_repeat_ns(source.database(), rank)) offer(*pass_ns);
  return first_ns;
}

std::set<int> ranks_of(const MergeSource& source, bool has_own_clock) {
  std::set<int> ranks;
  if (source.shard.rank >= 0) ranks.insert(source.shard.rank);
  for (const SourceTrack& track : source.tracks)
    if (track.track.rank && !is_on_own_clock(has_own_clock, track.track)) ranks.insert(*track.track.rank);
  if (source.now)
    for (const NowPage::Line& line : source.now->lines) ranks.insert(line.rank);
  return ranks;
}

// Zero of the run on the raw clock that all processes of a host share.
ClockFit shared_zero(std::span<const MergeSource> sources, const Found& found, const std::map<int, ClockFit>& fits) {
  if (!fits.empty()) {
    ClockFit zero = fits.begin()->second;
    zero.drift = 0;
    zero.exchanges = 0;
    return zero;
  }
  std::optional<std::int64_t> first_ns;
  for (const MergeSource& source : sources) {
    if (source.shard.clock != ShardClock::kRaw) continue;
    const std::optional<std::int64_t> first_here =
        first_moment(source, found.of_sources.contains(&source), std::nullopt);
    if (first_here) first_ns = std::min(first_ns.value_or(*first_here), *first_here);
  }
  return {.raw_zero_ns = first_ns.value_or(0)};
}

}  // namespace

MergeClocks::MergeClocks(std::span<const MergeSource> sources, Damage& damage) {
  Found found;
  for (const MergeSource& source : sources)
    if (source.db != nullptr) read_clocks(source, found, damage);
  fits_ = found.fits;
  exchanges_ = std::move(found.samples);
  for (const auto& [rank, samples] : exchanges_)
    if (!fits_.contains(rank)) fits_.emplace(rank, fit_clock(samples));
  const ClockFit zero = shared_zero(sources, found, fits_);
  const std::string host =
      fits_.empty() ? (found.boots.empty() ? "" : found.boots.begin()->second) : found.boots[fits_.begin()->first];
  of_sources_ = found.of_sources;
  for (const MergeSource& source : sources) {
    if (source.shard.clock != ShardClock::kRaw) continue;
    const bool has_own_clock = of_sources_.contains(&source);
    for (const int rank : ranks_of(source, has_own_clock)) {
      if (fits_.contains(rank)) continue;
      // The ranks of one process read one clock.
      if (const auto process = fits_.find(source.shard.rank); process != fits_.end()) {
        fits_.emplace(rank, process->second);
        continue;
      }
      const std::string boot = found.boots[rank];
      if (boot.empty() || host.empty() || boot == host) {
        fits_.emplace(rank, zero);
        continue;
      }
      fits_.emplace(
          rank, ClockFit{.raw_zero_ns = first_moment(source, has_own_clock, rank).value_or(0), .bound_ns = kNotKnown});
      damage.notes.push_back(
          fmt::format("the clock of rank {} was never compared with that of the run: its times begin at 0", rank));
    }
    const auto of_shard = fits_.find(source.shard.rank);
    without_rank_.emplace(&source, of_shard != fits_.end() ? of_shard->second : zero);
  }
}

const ClockFit* MergeClocks::fit(const MergeSource& source, int rank) const {
  if (source.shard.clock != ShardClock::kRaw) return nullptr;
  const auto found = fits_.find(rank);
  return found != fits_.end() ? &found->second : nullptr;
}

const ClockFit* MergeClocks::fit(const MergeSource& source, const Track& track) const {
  if (source.shard.clock != ShardClock::kRaw) return nullptr;
  const auto own = of_sources_.find(&source);
  if (is_on_own_clock(own != of_sources_.end(), track)) return &own->second;
  return track.rank ? fit(source, *track.rank) : &without_rank_.at(&source);
}

}  // namespace spscope
