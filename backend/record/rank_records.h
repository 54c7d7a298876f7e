// What a store holds of the processes that ranks were: which they were, how their clocks fit together, when each was at
// work on which repeat, and what went wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/base/clock_fit.h"
#include "backend/base/ids.h"
#include "backend/record/collector_cost.h"

namespace spscope {

inline constexpr int kNoRank = -1;

struct RankProcess {
  int rank = 0;
  std::string host;
  int node = 0;         // number of the host, from 0
  std::string boot_id;  // of the host, new at each start; "" when not known
  std::int64_t pid = 0;
  std::string state_text;  // why it ended badly, "" when it did not
  friend bool operator==(const RankProcess&, const RankProcess&) = default;
};

// What became of a collector in a process. Stored numbers: append only.
enum class CollectorOutcome : std::uint8_t {
  kComplete = 0,  // it came to its end: what it took and lost is known
  // Nobody saw its end, as its process was killed or lived on: its figures are of a second before that at most, and
  // records and losses the least.
  kCutOff = 1,
  kNotStarted = 2,  // it could not collect here: its notes say why
};
inline constexpr int kNumCollectorOutcomes = 3;
std::string_view collector_outcome_name(CollectorOutcome outcome);

// What a collector took for itself in one process.
struct CollectorRecord {
  int first_rank = 0;  // the lowest of the process, kNoRank: it has none
  // As its tracks name it; "" in runs of plans, where the rank says it, and for the whole host.
  std::string process = {};
  std::string name = {};
  CollectorCost cost = {};
  std::string notes = {};  // what it did not collect and why, a line each; "": nothing is missing
  CollectorOutcome outcome = CollectorOutcome::kComplete;
  friend bool operator==(const CollectorRecord&, const CollectorRecord&) = default;
};

struct RankClock {
  int rank = 0;  // kNoRank: of the tracks of a shard that have no rank
  ClockFit fit;  // without `rejected`
};

// When the ranks of a process began and ended a repeat of a run, which they do together: on their raw clock in a shard
// whose clock is raw, else on the run clock. The events of a rank in this repeat are those that began inside.
struct RankRepeat {
  RunId run_id = {};
  int repeat = 0, rank = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  int ranks = 1;  // from `rank` on
  bool holds(int other) const { return other >= rank && other - rank < ranks; }
  friend bool operator==(const RankRepeat&, const RankRepeat&) = default;
};

// What can go wrong with a rank. Stored numbers: append only.
enum class IncidentKind : std::uint8_t {
  kFailed = 0,       // it threw an error
  kHung = 1,         // it made no progress
  kStopped = 2,      // its process was stopped by a signal
  kKilled = 3,       // its process ended by a signal
  kLost = 4,         // its process disappeared, cause unknown
  kInterrupted = 5,  // it stopped on request
};
inline constexpr int kNumIncidentKinds = 6;
std::string_view incident_kind_name(IncidentKind kind);

// A fault. They are stored in order, the first cause first.
struct IncidentRecord {
  int rank = -1, lane = -1;  // -1: none
  std::int64_t op_id = -1;   // of the run's plan; -1: none
  std::optional<RunId> run_id;
  IncidentKind kind = IncidentKind::kFailed;
  std::string message;
  friend bool operator==(const IncidentRecord&, const IncidentRecord&) = default;
};

// What a file of a collection is; kNone for a finished file. `collection` is equal in all shards of one run.
enum class ShardKind : std::uint8_t { kNone, kHead, kRank };
enum class ShardClock : std::uint8_t { kRun, kRaw };  // of its events: run clock, or CLOCK_MONOTONIC_RAW of its host
struct ShardRecord {
  ShardKind kind = ShardKind::kNone;
  ShardClock clock = ShardClock::kRun;
  int rank = -1;           // of a rank shard: the smallest rank of its process
  std::string collection;  // 32 hexadecimal digits
  friend bool operator==(const ShardRecord&, const ShardRecord&) = default;
};

}  // namespace spscope
