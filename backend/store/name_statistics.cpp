#include "backend/store/name_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "backend/base/check.h"
#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/event_table/event_source.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

using Durations = std::vector<std::int64_t>;

// Keys of names whose text holds, by their key.
template <typename Value>
std::map<NameId, std::string> names_where(Database& db, std::string_view condition, const Value& value) {
  Statement rows(db, "SELECT string_id, value FROM main.string WHERE " + std::string(condition));
  rows.bind_all(value);
  std::map<NameId, std::string> names;
  while (rows.step())
    names.emplace(static_cast<NameId>(rows.integer(0, 0, std::numeric_limits<NameId>::max())), rows.text(1));
  return names;
}

// The duration at the nearest rank of `percent`.
std::int64_t percentile(Durations& durations, std::int64_t percent) {
  const std::int64_t rank = (std::ssize(durations) * percent + 99) / 100;
  const auto at = durations.begin() + static_cast<std::ptrdiff_t>(std::max<std::int64_t>(rank, 1) - 1);
  std::nth_element(durations.begin(), at, durations.end());
  return *at;
}

// Durations of the events with a name, apart for each rank, run and group.
class NameScan {
 public:
  NameScan(Database& db, const NameQuery& query) : db_(db), query_(query) {
    for (const auto& [id, text] : names_where(db, "value = ?", query.name)) names_.push_back(id);
    for (const Track& track : EventReader(db).tracks()) tracks_.emplace(track.track_id, track);
  }

  void run() {
    if (names_.empty()) return;
    for_each_chunk(db_, {.run_id = query_.run, .window = query_.window}, [&](const StoredChunk& chunk) { add(chunk); });
  }

  NameStatistics statistics() {
    NameStatistics found;
    found.unfinished = unfinished_;
    std::map<int, Durations> by_rank;
    std::map<RunId, Durations> by_run;
    std::map<std::int64_t, Durations> by_group;
    Durations all;
    for (auto& [key, durations] : durations_) {
      const auto& [run, rank, group] = key;
      const auto append = [&from = durations](Durations& to) { to.insert(to.end(), from.begin(), from.end()); };
      append(all);
      append(by_run[run]);
      if (rank) append(by_rank[*rank]);
      if (group) append(by_group[*group]);
      Durations().swap(durations);
    }
    found.all = duration_statistics(all);
    for (auto& [rank, durations] : by_rank) found.by_rank.emplace(rank, duration_statistics(durations));
    for (auto& [run, durations] : by_run) found.by_run.emplace(run, duration_statistics(durations));
    for (auto& [group, durations] : by_group) found.by_group.emplace(group, duration_statistics(durations));
    return found;
  }

 private:
  using Key = std::tuple<RunId, std::optional<int>, std::optional<std::int64_t>>;

  bool is_asked(const Track& track) const {
    return (!query_.rank || track.rank == query_.rank) && (!query_.kind || track.kind == *query_.kind);
  }

  void add(const StoredChunk& chunk) {
    if (chunk.header.kind == RecordKind::kCounter) return;
    const auto track = tracks_.find(chunk.track_id);
    if (track == tracks_.end())
      throw Error(ErrorCode::kStoreCorrupt, "cannot read \"" + db_.path() + "\": a chunk has no track");
    if (!is_asked(track->second)) return;
    ChunkUnpacker unpacker(chunk.header, chunk.data);
    hits_.clear();
    unpacker.columns().find_names(names_, hits_);
    if (hits_.empty()) return;
    // Ends come with begins.
    unpacker.unpack(column_bit(EventColumn::kBeginNs) | (query_.group_of ? column_bit(EventColumn::kOpId) : 0),
                    values_);
    Durations* of_chunk = query_.group_of ? nullptr : &durations_[{chunk.run_id, track->second.rank, std::nullopt}];
    for (const std::uint32_t hit : hits_) {
      const auto flags =
          static_cast<std::uint32_t>(unpacker.columns().value(ChunkColumns::kFlags, static_cast<int>(hit)));
      const std::int64_t begin_ns = values_.of(EventColumn::kBeginNs)[hit],
                         end_ns = values_.of(EventColumn::kEndNs)[hit];
      if (!query_.window.holds({.begin_ns = begin_ns, .end_ns = end_ns})) continue;
      if ((flags & kEventUnfinished) != 0) {
        ++unfinished_;
        continue;
      }
      Durations& to =
          of_chunk != nullptr ? *of_chunk : durations_[{chunk.run_id, track->second.rank, group_of(chunk, hit)}];
      const std::int64_t duration_ns =
          chunk_columns::number(chunk_columns::bits(end_ns) - chunk_columns::bits(begin_ns));
      if (duration_ns < 0 || end_ns < begin_ns) chunk_columns::corrupt("an event ends before it begins");
      to.push_back(duration_ns);
    }
  }

  std::optional<std::int64_t> group_of(const StoredChunk& chunk, std::uint32_t hit) const {
    const std::int64_t op = values_.of(EventColumn::kOpId)[hit];
    return op < 0 ? std::nullopt : query_.group_of(chunk.run_id, op);
  }

  Database& db_;
  const NameQuery& query_;
  std::vector<NameId> names_;
  std::map<TrackId, Track> tracks_;
  std::map<Key, Durations> durations_;
  std::int64_t unfinished_ = 0;
  std::vector<std::uint32_t> hits_;  // of the chunk at hand, as the values
  EventValues values_;
};

}  // namespace

int duration_bin(std::int64_t duration_ns) {
  SPSCOPE_CHECK(duration_ns >= 0);
  const auto ns = static_cast<std::uint64_t>(duration_ns);
  if (ns < 4) return static_cast<int>(ns);
  const int octave = std::bit_width(ns) - 1;  // 2 or more
  return 4 * (octave - 1) + static_cast<int>(ns >> (octave - 2) & 3);
}

std::int64_t duration_bin_begin_ns(int bin) {
  if (bin < 4) return bin;
  const int octave = bin / 4 + 1;
  return octave > 62 ? kNeverEnded : static_cast<std::int64_t>(4 + bin % 4) << (octave - 2);
}

DurationStatistics duration_statistics(std::vector<std::int64_t>& durations_ns) {
  DurationStatistics found;
  if (durations_ns.empty()) return found;
  found.count = std::ssize(durations_ns);
  found.median_ns = percentile(durations_ns, 50);
  found.p90_ns = percentile(durations_ns, 90);
  found.p99_ns = percentile(durations_ns, 99);
  const auto [shortest, longest] = std::minmax_element(durations_ns.begin(), durations_ns.end());
  found.min_ns = *shortest;
  found.max_ns = *longest;
  // Doubles hold whole numbers to 2^53 ns, 104 days; the sum of deviations from the mean loses nothing that counts.
  double sum = 0, squares = 0;
  for (const std::int64_t ns : durations_ns) {
    sum += static_cast<double>(ns);
    if (__builtin_add_overflow(found.total_ns, ns, &found.total_ns)) found.total_ns = kNeverEnded;
  }
  found.mean_ns = sum / static_cast<double>(found.count);
  const int first_bin = duration_bin(found.min_ns);
  for (int bin = first_bin; bin <= duration_bin(found.max_ns); ++bin)
    found.histogram.push_back({duration_bin_begin_ns(bin), duration_bin_begin_ns(bin + 1), 0});
  for (const std::int64_t ns : durations_ns) {
    squares += (static_cast<double>(ns) - found.mean_ns) * (static_cast<double>(ns) - found.mean_ns);
    ++found.histogram[static_cast<std::size_t>(duration_bin(ns) - first_bin)].count;
  }
  found.deviation_ns = std::sqrt(squares / static_cast<double>(found.count));
  return found;
}

NameStatistics name_statistics(Database& db, const NameQuery& query) {
  NameScan scan(db, query);
  scan.run();
  return scan.statistics();
}

std::vector<NameCount> find_name(Database& db, std::string_view text) {
  // Keys are small numbers in files of ours; those of a hostile one may be any.
  constexpr std::size_t kMaxTabled = 1 << 16;
  const std::map<NameId, std::string> names = names_where(db, "instr(lower(value), lower(?)) > 0", text);
  if (names.empty()) return {};
  std::vector<std::int64_t> tabled(std::min<std::size_t>(kMaxTabled, std::size_t{names.rbegin()->first} + 1));
  std::unordered_map<NameId, std::int64_t> others;
  std::vector<std::uint64_t> ids;
  for_each_chunk(db, {}, [&](const StoredChunk& chunk) {
    if (chunk.header.kind == RecordKind::kCounter) return;
    ChunkColumns columns(chunk.header, chunk.data);
    ids.resize(static_cast<std::size_t>(columns.count()));
    columns.unpack(ChunkColumns::kName, 0, ids);
    for (const std::uint64_t id : ids)
      if (id < tabled.size())
        ++tabled[id];
      else if (id >= kMaxTabled)
        ++others[static_cast<NameId>(id)];
  });
  std::map<std::string, std::int64_t> counts;  // two keys may have one text
  for (const auto& [id, name] : names) {
    const auto other = others.find(id);
    counts[name] += id < tabled.size() ? tabled[id] : other != others.end() ? other->second : 0;
  }
  std::vector<NameCount> found;
  for (const auto& [name, count] : counts)
    if (count > 0) found.push_back({name, count});
  std::ranges::stable_sort(found, std::greater<>(), &NameCount::count);
  return found;
}

}  // namespace spscope
