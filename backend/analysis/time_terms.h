// The makespan of a timeline as a sum of terms, down to what caused them, and who waited for whom.
//
// Each part of the time of a rank (TimeColumn, rank_times.h) is handed to single operations, so that no nanosecond is
// counted twice:
//   compute     the operations of the compute lane in order of time. Where compute is modelled, what an operation took
//               beyond its cost is `slowdown`; an attention's cost is launch, rows and tiles (attend_parts in cost.h).
//   wire        of transfers that overlap, the one that began first (then the lower op id) has the time. Where the
//               network is modelled, a transfer begins and ends with `packing` (exchange_copy_ns), of which the first
//               part counts from the post on; then `latency`, up to t0 or the floor of its slowest message. The rest is
//               between nodes when any message of the operation crosses nodes, else inside.
//   late peer   of waits that overlap, the one that was posted first. The late rank is the partner that posted last.
//   other       after the last operation of the rank: `end_wait`, for the rank that ends last. While an operation that
//               comes after nothing that still runs is not issued (HostTimes in schedule/cost.h): `host`. Else `idle`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/plan/timeline.h"
#include "backend/schedule/network.h"

namespace spscope {

enum class TimeTerm {
#define TIME_TERM(id, key, column, cause, meaning) k##id,
#include "backend/analysis/time_terms.def"
#undef TIME_TERM
};
inline constexpr int kNumTimeTerms = static_cast<int>(TimeTerm::kIdle) + 1;

enum class TimeColumn { kCompute, kLatePeer, kWire, kOther };
inline constexpr int kNumTimeColumns = 4;

enum class Cause {
#define CAUSE(id, name) k##id,
#include "backend/analysis/causes.def"
#undef CAUSE
};
inline constexpr int kNumCauses = static_cast<int>(Cause::kIdle) + 1;

struct TimeTermRow {
  std::string_view key;
  TimeColumn column;
  Cause cause;
  std::string_view meaning;
};
std::span<const TimeTermRow> time_term_rows();  // by TimeTerm
std::string_view cause_name(Cause cause);       // "late_rank"
bool is_transfer(Cause cause);                  // latency, wire, or both
bool is_compute(Cause cause);                   // what ops of compute, packing included, do: launches to kernels

// Nanoseconds by TimeTerm.
struct TimeTerms {
  std::array<std::int64_t, kNumTimeTerms> ns = {};

  std::int64_t& operator[](TimeTerm term) { return ns[static_cast<std::size_t>(term)]; }
  std::int64_t operator[](TimeTerm term) const { return ns[static_cast<std::size_t>(term)]; }
  std::int64_t total() const;
  std::int64_t of(Cause cause) const;
  std::int64_t of(TimeColumn column) const;
  TimeTerms& operator+=(const TimeTerms& other);
  friend TimeTerms operator-(TimeTerms a, const TimeTerms& b);
  friend bool operator==(const TimeTerms&, const TimeTerms&) = default;
};

// Sums over `ranks` ranks as means, whole nanoseconds whose total is exactly that of `sums` / ranks: term i is
// floor(S_i / ranks) - floor(S_(i-1) / ranks) with the partial sums S. REQUIRES: ranks divides the total.
TimeTerms mean_terms(const TimeTerms& sums, int ranks);

// Time in which `rank` waited for `late_rank`, neither computing nor moving data. At the end of a plan there is no
// operation: `collective` is "end".
struct RankWait {
  int rank = 0, late_rank = 0;
  std::string collective;  // the name of its events: "exchange kv"
  int ring_step = 0;       // of the attention that needs what it brings; 0: the first one, or none
  std::int64_t wait_ns = 0;
  friend bool operator==(const RankWait&, const RankWait&) = default;
};

struct TimeDetail {
  TimeTerms rank_sums;                      // over all ranks
  std::vector<RankWait> waits;              // joined, longest first
  std::vector<std::int64_t> waited_for_ns;  // by late rank: the sum of its waits
};

// One of several layer passes that were scheduled one after the other (schedule/layer_passes.h).
struct PassDetail {
  // By rank, where it meets the passes around. A rank that has ended a pass begins the next one when its host does.
  struct Edges {
    bool has_ops = false;
    std::int64_t tail_ns = 0;   // from its last operation to the end of the pass
    std::int64_t early_ns = 0;  // from its first operation to the end of the pass before
  };
  // Time after the begin of the next pass is off the end_wait of that pass, so it may be below 0 here.
  std::vector<TimeTerms> by_rank;
  std::vector<RankWait> waits;  // but for those at the end
  std::vector<Edges> edges;
  int last_rank = 0;  // of those with operations, the one that ends last
  bool hosts = false;
};

// The models behind the times; absent where these were measured.
struct TimeModels {
  std::optional<KernelCostProfile> cost = {};
  std::optional<Network> network = {};
  std::vector<int> nodes = {};  // of each rank; empty: all on one
};

// REQUIRES: a timeline of this plan.
TimeDetail time_detail(const Plan& plan, const Timeline& timeline, const TimeModels& models);

// As ScheduledPass.
struct PassTimes {
  std::int64_t makespan_ns = 0, lead_ns = 0;
};
PassDetail pass_detail(const Plan& plan, const Timeline& timeline, const TimeModels& models, const PassTimes& pass);

// Of passes that follow each other. Ranks wait for the end of the last one only: between two passes a rank that is done
// waits for its host, unless it has no operation in the next one. REQUIRES: all have the same ranks.
TimeDetail joined_detail(std::span<const PassDetail> passes);

// Waits of equal ranks, collective and ring step as one, longest first.
std::vector<RankWait> joined_waits(std::vector<RankWait> waits);

}  // namespace spscope
