#include "backend/analysis/arrival_skew.h"

#include <fmt/format.h>

#include <map>

#include "backend/analysis/field_number.h"

namespace spscope {
namespace {

// Ranks that ended a collective together have one name and number of it. `before_ns` makes a union of the waits of a
// rank for another one: the part of a wait before that was counted already.
constexpr const char* kLastRanks = R"(
WITH part AS MATERIALIZED (
  SELECT substr(t.name, 6, instr(t.name, ' rank ') - 6) AS communicator, e.name AS name, sequence,
         coalesce(t.rank, CAST(substr(t.name, instr(t.name, ' rank ') + 6) AS INTEGER)) AS rank,
         CAST(substr(t.name, instr(t.name, ' of ') + 4) AS INTEGER) AS of_ranks, transfer_begin_ns AS came_ns,
         end_ns - transfer_begin_ns AS took_ns
  FROM track t CROSS JOIN event e ON e.track_id = t.track_id
  WHERE t.name GLOB 'NCCL 0x* rank * of *' AND category = 'transfer' AND sequence >= 0 AND peer = -1 AND NOT unfinished
    AND begin_ns >= {} AND transfer_begin_ns > begin_ns AND e.name NOT GLOB '* from [0-9]*' AND e.name NOT GLOB '* to [0-9]*'),
met AS MATERIALIZED (
  SELECT communicator, name, sequence, min(took_ns) AS shortest_ns, rank AS late_rank
  FROM part GROUP BY 1, 2, 3 HAVING count(DISTINCT rank) > 1),
wait AS MATERIALIZED (
  SELECT rank, late_rank, of_ranks, came_ns, came_ns + took_ns - shortest_ns AS until_ns,
         max(came_ns + took_ns - shortest_ns)
           OVER (PARTITION BY late_rank, rank ORDER BY came_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
           AS before_ns
  FROM part JOIN met USING (communicator, name, sequence))
SELECT late_rank, (SELECT count(*) FROM met m WHERE m.late_rank = wait.late_rank),
       sum(max(0, until_ns - max(came_ns, coalesce(before_ns, came_ns)))),
       (SELECT count(DISTINCT rank) FROM wait), (SELECT max(of_ranks) FROM wait)
FROM wait GROUP BY 1 ORDER BY 3 DESC, 1)";

constexpr const char* kNamelessCommunicators =
    "SELECT count(DISTINCT substr(name, 6, instr(name, ' rank ') - 6)) FROM track "
    "WHERE rank IS NULL AND name GLOB 'NCCL 0x* rank * of *'";

// From when on they are at most kMostOperations, as far as these are spread evenly: more take minutes.
std::int64_t begin_of_last(const StoreReader& reader) {
  constexpr double kMostOperations = 2e6;
  const QueryResult found = reader.query(
      "SELECT sum(count), min(first_begin_ns), max(last_end_ns) FROM event_stats "
      "WHERE category = 'transfer' AND track_kind = 'foreign' AND count > 0");
  const auto count = number_of<double>(found.rows.front()[0]);
  const std::int64_t first_ns = number_of(found.rows.front()[1]), last_ns = number_of(found.rows.front()[2]);
  if (count <= kMostOperations) return first_ns;
  return last_ns - static_cast<std::int64_t>(static_cast<double>(last_ns - first_ns) * kMostOperations / count);
}

// By rank, without those of NCCL, in which ranks wait.
std::map<int, double> kernel_times(const StoreReader& reader) {
  std::map<int, double> times;
  const QueryResult found = reader.query(
      "SELECT rank, total(total_ns) FROM event_stats WHERE category = 'kernel' AND rank IS NOT NULL "
      "AND name NOT GLOB '*nccl[DK]*' GROUP BY rank");
  for (const std::vector<FieldText>& row : found.rows)
    times[static_cast<int>(number_of(row[0]))] = number_of<double>(row[1]);
  return times;
}

}  // namespace

std::int64_t ArrivalSkew::wait_ns() const {
  std::int64_t sum = 0;
  for (const LastRank& rank : last) sum += rank.others_wait_ns;
  return sum;
}

ArrivalSkew arrival_skew(const StoreReader& reader) {
  ArrivalSkew found;
  found.from_ns = begin_of_last(reader);
  found.nameless_communicators = static_cast<int>(number_of(reader.query(kNamelessCommunicators).rows.front()[0]));
  if (found.nameless_communicators > 1) return found;
  for (const std::vector<FieldText>& row : reader.query(fmt::format(kLastRanks, found.from_ns)).rows) {
    found.last.push_back({static_cast<int>(number_of(row[0])), number_of(row[1]), number_of(row[2]), {}});
    found.collectives += found.last.back().last_in;
    found.ranks = static_cast<int>(number_of(row[3]));
    found.largest_communicator = static_cast<int>(number_of(row[4]));
  }
  if (found.last.empty()) return found;
  const std::map<int, double> kernels = kernel_times(reader);
  for (LastRank& late : found.last) {
    double others = 0;
    for (const auto& [rank, ns] : kernels)
      if (rank != late.rank) others += ns;
    const auto own = kernels.find(late.rank);
    if (own != kernels.end() && others > 0)
      late.kernels = own->second * static_cast<double>(kernels.size() - 1) / others;
  }
  return found;
}

}  // namespace spscope
