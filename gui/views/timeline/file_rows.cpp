#include "gui/views/timeline/file_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <tuple>
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
      if (track.kind == TrackKind::kCounter) counters_[place_of(track)].push_back(track);
    }
    for (const LedgerRecord& row : reader.events().ledger()) ledger_.emplace(row.track_id, row);
    for (const StrategyRecord& strategy : reader.strategies())
      if (strategy.rank_map.size() > nodes_.size()) nodes_ = strategy.rank_map;
  }

  std::vector<FileRow> rows() {
    // A rank that has counters alone stands where it would with others.
    std::map<Group, std::vector<std::size_t>, decltype(&is_before)> groups(&is_before);
    for (std::size_t strip = 0; strip < strips_.size(); ++strip) groups[group_of(strip)].push_back(strip);
    for (const auto& [place, counters] : counters_) groups[{place.rank, place.process}];
    for (const auto& [group, strips] : groups) add_group(group, strips);
    add_missing();
    return std::move(rows_);
  }

 private:
  // What stands together: a rank, or without one a program; last what has neither.
  struct Group {
    std::optional<int> rank;
    std::optional<std::string> process;
  };
  static bool is_before(const Group& a, const Group& b) {
    const auto key = [](const Group& of) { return std::tuple(!of.rank, of.rank, !of.process, of.process); };
    return key(a) < key(b);
  }
  // Whose counters stand together: of a device, which programs may share, or of a group.
  struct Place {
    std::optional<int> rank;
    std::optional<std::string> device, process;
    auto operator<=>(const Place&) const = default;
  };
  static Place place_of(const Track& track) {
    return {track.rank, track.device, track.rank || track.device ? std::nullopt : track.process};
  }

  const Track* track_of(std::size_t strip) const {
    return strips_[strip].track ? &tracks_.at(*strips_[strip].track) : nullptr;
  }
  std::optional<std::string> device_of(std::size_t strip) const {
    const Track* track = track_of(strip);
    return track != nullptr ? track->device : std::nullopt;
  }
  Group group_of(std::size_t strip) const {
    const Track* track = track_of(strip);
    const bool alone = strips_[strip].rank || track == nullptr;
    return {strips_[strip].rank, alone ? std::nullopt : track->process};
  }

  // Whether several programs without rank have a device: its counters are of none of them.
  bool is_shared(const std::string& device) const {
    std::set<std::optional<std::string>> programs;
    for (const auto& [id, track] : tracks_)
      if (!track.rank && track.device == device && track.kind != TrackKind::kCounter) programs.insert(track.process);
    return programs.size() > 1;
  }

  // Counters of a device stand behind the last of its streams.
  void add_group(const Group& group, const std::vector<std::size_t>& strips) {
    owner_ = group.rank ? std::optional(rows_.size()) : std::nullopt;
    add_heading(group, strips);
    for (std::size_t i = 0; i < strips.size(); ++i) {
      add_strip(strips[i]);
      const std::optional<std::string> device = device_of(strips[i]);
      const bool last = std::none_of(strips.begin() + static_cast<std::ptrdiff_t>(i) + 1, strips.end(),
                                     [&](std::size_t later) { return device_of(later) == device; });
      if (device && last && (group.rank || !is_shared(*device))) add_counters({group.rank, device, std::nullopt});
    }
    std::vector<Place> left;
    for (const auto& [place, counters] : counters_)
      if (place.rank == group.rank && place.process == group.process) left.push_back(place);
    for (const Place& place : left) add_counters(place);
  }

  // The lanes of a rank are one themselves. What all tracks have in common is said there alone.
  void add_heading(const Group& group, const std::vector<std::size_t>& strips) {
    std::set<std::string> devices, programs;
    for (const std::size_t strip : strips)
      if (const Track* track = track_of(strip)) {
        if (track->device) devices.insert(*track->device);
        if (track->process) programs.insert(*track->process);
      }
    has_lanes_ = !strips.empty() && track_of(strips.front()) == nullptr;
    headed_ = has_lanes_ || (!strips.empty() && (group.rank || group.process));
    device_ = headed_ && devices.size() == 1 ? std::optional(*devices.begin()) : std::nullopt;
    if (!headed_ || has_lanes_) return;
    FileRow head{.kind = FileRowKind::kGroup, .rank = group.rank.value_or(kNoRank)};
    head.label = group.rank ? fmt::format("rank {}", *group.rank) : std::string(short_process_name(*group.process));
    head.title = group.rank ? head.label : *group.process;
    if (device_) {
      head.label += ", " + *names_.of(device_);
      head.title += ", " + *device_;
    }
    if (programs.size() == 1) head.unit = *programs.begin();
    if (programs.size() > 1) head.unit = fmt::format("{} programs", programs.size());
    add(std::move(head)).headed = false;
    if (!group.rank) headings_.emplace(group.process, rows_.size() - 1);
  }

  FileRow& add(FileRow row) {
    row.owner = owner_.value_or(rows_.size());
    row.headed = headed_;
    if (row.rank != kNoRank && static_cast<std::size_t>(row.rank) < nodes_.size())
      row.node = nodes_[static_cast<std::size_t>(row.rank)];
    if (row.title.empty()) row.title = row.label;
    return rows_.emplace_back(std::move(row));
  }

  // Of a program that was observed, no lanes say the rank.
  std::string with_rank(int rank, bool is_said, std::string label) const {
    return rank == kNoRank || is_said ? label : fmt::format("rank {}, {}", rank, label);
  }

  void add_strip(std::size_t strip) {
    const StoredPyramid& pyramid = strips_[strip];
    FileRow row{.rank = pyramid.rank.value_or(kNoRank), .track = pyramid.track, .strip = static_cast<int>(strip)};
    const auto busy_ns = pyramid.busy_ns();
    for (std::size_t c = 0; c < busy_ns.size(); ++c) {
      std::int64_t& sum = row.busy_ns[static_cast<std::size_t>(part_of(static_cast<EventCategory>(c), row.of()))];
      if (__builtin_add_overflow(sum, busy_ns[c], &sum)) sum = kNeverEnded;  // times of a file may be any
    }
    if (!row.track) {
      row.label = fmt::format("rank {}", row.rank);
      add(std::move(row)).headed = false;
      return;
    }
    row.kind = FileRowKind::kTrack;
    const Track& track = tracks_.at(*row.track);
    // Work that overlaps on a stream or thread is on tracks of one name.
    const std::string slot = track.slot > 0 ? fmt::format(" ({})", track.slot + 1) : "";
    Track named = track;
    named.name = short_track_name(track.name);
    row.label =
        with_rank(row.rank, headed_, track_label(named, device_ ? std::nullopt : names_.of(track.device)) + slot);
    row.title = with_rank(row.rank, has_lanes_, track_label(track, track.device) + slot);
    if (!track.rank && track.process) row.title += ", " + *track.process;
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
    const auto& [rank, device, process] = place;
    const std::size_t heading = rows_.size();
    FileRow head{.kind = FileRowKind::kCounters, .rank = rank.value_or(kNoRank)};
    const auto counters_of = [](const std::optional<std::string>& name) {
      return name ? fmt::format("{} counters", *name) : "counters";
    };
    head.label = with_rank(head.rank, headed_, counters_of(names_.of(device)));
    head.title = with_rank(head.rank, has_lanes_, counters_of(device));
    if (process) head.title += ", " + *process;
    for (const Track& track : found->second)
      head.unit += (head.unit.empty() ? "" : ", ") + short_track_name(counter_name(track).quantity);
    head.heading = heading;
    head.group = num_groups_++;
    add(std::move(head));
    for (const Track& track : found->second) {
      CounterName name = counter_name(track);
      add({.kind = FileRowKind::kCounter,
           .rank = rank.value_or(kNoRank),
           .track = track.track_id,
           .label = short_track_name(name.quantity),
           .title = name.quantity,
           .unit = std::move(name.unit),
           .heading = heading});
    }
    counters_.erase(found);
  }

  void add_missing() {
    for (const auto& [id, ledger] : ledger_) {
      if (ledger.sent <= ledger.stored) continue;
      auto row = std::ranges::find(rows_, std::optional(id), &FileRow::track);
      if (const auto track = tracks_.find(id); row == rows_.end() && track != tracks_.end()) {
        if (track->second.rank) row = std::ranges::find(rows_, *track->second.rank, &FileRow::rank);
        if (const auto heading = headings_.find(track->second.process);
            !track->second.rank && heading != headings_.end())
          row = rows_.begin() + static_cast<std::ptrdiff_t>(heading->second);
      }
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
  std::map<std::optional<std::string>, std::size_t> headings_;  // of programs without rank
  // Of the group at hand: the row of its rank; whether that is one of lanes, whether any row heads it, and its device
  // where all tracks that have one have the same.
  std::optional<std::size_t> owner_;
  bool has_lanes_ = false, headed_ = false;
  std::optional<std::string> device_;
  std::int64_t counted_ = 0;
  int num_groups_ = 0;
};

}  // namespace

std::vector<FileRow> load_file_rows(const StoreReader& reader) { return Loader(reader).rows(); }

}  // namespace spscope::gui
