// How long the events of one name take: exact percentiles, deviation and a histogram of their durations, of all and by
// rank, by run and by a group of the caller's, as the ring step of an op. And which names there are.
//
// A duration counts whole, also what of it lies outside the window, as in event_stats. Events that had not ended have
// none: they are only counted. Chunks outside of the window, and those without the name, are not unpacked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

class Database;

// A bin of durations: [begin_ns, end_ns). Bins are fixed: 0, 1, 2 and 3 ns have one each, and every octave
// [2^e, 2^(e+1)) from 4 ns on is cut into four of equal width, so that a bin is at most a quarter wider than it begins.
struct DurationBin {
  std::int64_t begin_ns = 0, end_ns = 0, count = 0;
  friend bool operator==(const DurationBin&, const DurationBin&) = default;
};
// The number of the bin of a duration of at least 0, and where a bin begins; kNeverEnded behind the last.
int duration_bin(std::int64_t duration_ns);
std::int64_t duration_bin_begin_ns(int bin);

// Of durations in ns. A percentile p is the nearest rank: the smallest duration that at least p % of all are no longer
// than. The deviation is that of the whole population, sqrt(mean((x - mean)^2)).
struct DurationStatistics {
  std::int64_t count = 0;
  std::int64_t total_ns = 0;  // at most the largest number
  double mean_ns = 0, deviation_ns = 0;
  std::int64_t min_ns = 0, median_ns = 0, p90_ns = 0, p99_ns = 0, max_ns = 0;
  std::vector<DurationBin> histogram;  // from the bin of the shortest to that of the longest, empty ones among them
  friend bool operator==(const DurationStatistics&, const DurationStatistics&) = default;
};
// All 0 of none. Reorders the durations.
DurationStatistics duration_statistics(std::vector<std::int64_t>& durations_ns);

struct NameQuery {
  std::string name;                    // whole
  std::optional<RunId> run = {};       // a layer pass; absent: all
  std::optional<int> rank = {};        // absent: all, and tracks without a rank
  std::optional<TrackKind> kind = {};  // kRankLane: only what ranks did for ops
  EventWindow window = {};
  // A group of an op of a run, as its ring step; nothing: it is in none. Not called for events without an op.
  std::function<std::optional<std::int64_t>(RunId run, std::int64_t op_id)> group_of = {};
};

struct NameStatistics {
  DurationStatistics all;
  std::int64_t unfinished = 0;
  std::map<int, DurationStatistics> by_rank;            // without tracks that have no rank
  std::map<RunId, DurationStatistics> by_run;           // kNoRun: events of none
  std::map<std::int64_t, DurationStatistics> by_group;  // of group_of
};

// Throws Error: kStoreCorrupt, kCancelled. A name that the file does not have has no events.
NameStatistics name_statistics(Database& db, const NameQuery& query);

struct NameCount {
  std::string name;
  std::int64_t count = 0;  // events of all tracks
  friend bool operator==(const NameCount&, const NameCount&) = default;
};
// The names of events that contain a text, without regard to the case of ASCII letters, the most frequent first, then
// by name. Throws Error: kStoreCorrupt, kCancelled.
std::vector<NameCount> find_name(Database& db, std::string_view text);

}  // namespace spscope
