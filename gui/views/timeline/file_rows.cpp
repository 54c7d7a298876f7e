#include "gui/views/timeline/file_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gui/launch/device_names.h"
#include "gui/launch/live_strips.h"
#include "gui/views/timeline/counter_series.h"
#include "gui/views/timeline/time_spans.h"

namespace spscope::gui {
namespace {

std::set<std::string> devices_of(const StoreReader& reader) {
  std::set<std::string> devices;
  for (const Track& track : reader.events().tracks())
    if (track.device) devices.insert(*track.device);
  return devices;
}

// Events that are read, of all tracks together, to know how many rows those need that overlap; others get the most.
constexpr std::int64_t kMostCounted = 1'000'000;

class Loader {
 public:
  explicit Loader(const StoreReader& reader)
      : reader_(reader), strips_(reader.lod().rows()), names_(devices_of(reader)) {
    for (const Track& track : reader.events().tracks()) {
      tracks_.emplace(track.track_id, track);
      if (track.kind == TrackKind::kCounter) counters_[{track.rank, track.device}].push_back(track);
    }
    for (const LedgerRecord& row : reader.events().ledger()) ledger_.emplace(row.track_id, row);
    for (const StrategyRecord& strategy : reader.strategies())
      if (strategy.rank_map.size() > nodes_.size()) nodes_ = strategy.rank_map;
  }

  std::vector<FileRow> rows() {
    // Strips are in order of rank, those of none last; a rank that has counters alone stands where it would.
    std::size_t strip = 0;
    std::vector<std::optional<int>> ranks;
    for (const StoredPyramid& row : strips_) ranks.push_back(row.rank);
    for (const auto& [place, counters] : counters_) ranks.push_back(place.first);
    std::ranges::sort(ranks, {}, [](const std::optional<int>& rank) { return std::pair(!rank, rank); });
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    for (const std::optional<int>& rank : ranks) {
      owner_ = rank ? std::optional(rows_.size()) : std::nullopt;
      const std::size_t first = strip;
      while (strip < strips_.size() && strips_[strip].rank == rank) ++strip;
      add_rank(rank, first, strip);
    }
    add_missing();
    return std::move(rows_);
  }

 private:
  using Place = std::pair<std::optional<int>, std::optional<std::string>>;  // rank and device

  const std::optional<std::string>& device_of(std::size_t strip) const {
    static const std::optional<std::string> kNone;
    const StoredPyramid& row = strips_[strip];
    return row.track ? tracks_.at(*row.track).device : kNone;
  }

  // Strips [first, end). Counters of a device stand behind the last of its streams.
  void add_rank(std::optional<int> rank, std::size_t first, std::size_t end) {
    for (std::size_t strip = first; strip < end; ++strip) {
      add_strip(strip);
      const std::optional<std::string>& device = device_of(strip);
      bool last = device.has_value();
      for (std::size_t later = strip + 1; later < end; ++later) last = last && device_of(later) != device;
      if (last) add_counters({rank, device});
    }
    std::vector<Place> left;
    for (const auto& [place, counters] : counters_)
      if (place.first == rank) left.push_back(place);
    for (const Place& place : left) add_counters(place);
  }

  FileRow& add(FileRow row) {
    row.owner = owner_.value_or(rows_.size());
    if (row.rank != kNoRank && static_cast<std::size_t>(row.rank) < nodes_.size())
      row.node = nodes_[static_cast<std::size_t>(row.rank)];
    if (row.title.empty()) row.title = row.label;
    return rows_.emplace_back(std::move(row));
  }

  // Of a program that was observed, no row says the rank.
  std::string with_rank(int rank, std::string label) const {
    const bool headed = owner_ && *owner_ < rows_.size() && rows_[*owner_].kind == FileRowKind::kLanes;
    return rank == kNoRank || headed ? label : fmt::format("rank {}, {}", rank, label);
  }

  void add_strip(std::size_t strip) {
    const StoredPyramid& pyramid = strips_[strip];
    FileRow row{.rank = pyramid.rank.value_or(kNoRank), .track = pyramid.track, .strip = static_cast<int>(strip)};
    // Two buckets hold all time there is, that before zero and that after it.
    for (const LodBucket& bucket : reader_.lod().buckets(pyramid, kMaxLodShift, -1, 1))
      for (std::size_t c = 0; c < bucket.busy_ns.size(); ++c)
        row.busy_ns[static_cast<std::size_t>(part_of(static_cast<EventCategory>(c), row.of()))] += bucket.busy_ns[c];
    if (!row.track) {
      row.label = fmt::format("rank {}", row.rank);
      add(std::move(row));
      return;
    }
    row.kind = FileRowKind::kTrack;
    const Track& track = tracks_.at(*row.track);
    // Work that overlaps on a stream or thread is on tracks of one name.
    const std::string slot = track.slot > 0 ? fmt::format(" ({})", track.slot + 1) : "";
    row.label = with_rank(row.rank, track_label(track, names_.of(track.device)) + slot);
    row.title = with_rank(row.rank, track_label(track, track.device) + slot);
    if (track.overlapping) row.num_subs = rows_of(track);
    for (; row.sub < row.num_subs; ++row.sub) {
      add(row);
      row.label.clear();
      row.title.clear();
      row.busy_ns = {};
    }
  }

  int rows_of(const Track& track) {
    const auto ledger = ledger_.find(track.track_id);
    counted_ += ledger != ledger_.end() ? ledger->second.stored : kMostCounted;
    if (counted_ > kMostCounted) return kMostSubRows;
    return std::max(1, most_at_once(reader_.events().spans(track.track_id), kMostSubRows));
  }

  void add_counters(const Place& place) {
    const auto found = counters_.find(place);
    if (found == counters_.end()) return;
    const auto& [rank, device] = place;
    const std::size_t heading = rows_.size();
    FileRow head{.kind = FileRowKind::kCounters, .rank = rank.value_or(kNoRank)};
    const auto counters_of = [](const std::optional<std::string>& name) {
      return name ? fmt::format("{} counters", *name) : "counters";
    };
    head.label = with_rank(head.rank, counters_of(names_.of(device)));
    head.title = with_rank(head.rank, counters_of(device));
    for (const Track& track : found->second)
      head.unit += (head.unit.empty() ? "" : ", ") + counter_name(track).quantity;
    head.heading = heading;
    head.group = num_groups_++;
    add(std::move(head));
    for (const Track& track : found->second) {
      CounterName name = counter_name(track);
      add({.kind = FileRowKind::kCounter,
           .rank = rank.value_or(kNoRank),
           .track = track.track_id,
           .label = std::move(name.quantity),
           .unit = std::move(name.unit),
           .heading = heading});
    }
    counters_.erase(found);
  }

  void add_missing() {
    for (const auto& [id, ledger] : ledger_) {
      if (ledger.sent <= ledger.stored) continue;
      auto row = std::ranges::find(rows_, std::optional(id), &FileRow::track);
      if (const auto track = tracks_.find(id); row == rows_.end() && track != tracks_.end() && track->second.rank)
        row = std::ranges::find(rows_, *track->second.rank, &FileRow::rank);
      if (row != rows_.end()) row->missing += ledger.sent - ledger.stored;
    }
  }

  const StoreReader& reader_;
  const std::vector<StoredPyramid> strips_;
  const DeviceNames names_;
  std::vector<int> nodes_;
  std::map<TrackId, Track> tracks_;
  std::map<Place, std::vector<Track>> counters_;
  std::map<TrackId, LedgerRecord> ledger_;
  std::vector<FileRow> rows_;
  std::optional<std::size_t> owner_;  // of the rank at hand
  std::int64_t counted_ = 0;
  int num_groups_ = 0;
};

}  // namespace

std::vector<FileRow> load_file_rows(const StoreReader& reader) { return Loader(reader).rows(); }

}  // namespace spscope::gui
