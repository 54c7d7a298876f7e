#include "backend/store/check_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/store/sqlite/sqlite.h"
#include "backend/store/stored_figures.h"

namespace spscope {

namespace {

// Sums of bytes; numbers of a damaged file may be too large to add.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

struct Moved {
  std::int64_t sent = 0, sent_intra_node = 0, received = 0, messages = 0;
};

class Differences {
 public:
  explicit Differences(std::string_view other) : other_(other) {}
  template <typename Number>
  void compare(int rank, std::string_view what, Number by_usage, Number by_other) {
    if (by_usage != by_other)
      found_.push_back(fmt::format("rank {} {} by rank_usage and {} by {}", rank,
                                   fmt::format(fmt::runtime(what), by_usage), by_other, other_));
  }
  void add(std::string text) { found_.push_back(std::move(text)); }
  std::vector<std::string> found() && { return std::move(found_); }

 private:
  std::string_view other_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> disagreements(double tiles_of_run, std::span<const RankUsage> usage,
                                       std::span<const Traffic> traffic, std::span<const int> nodes) {
  const auto node_of = [&](int rank) { return nodes[static_cast<std::size_t>(rank)]; };
  const auto has_node = [&](int rank) { return rank >= 0 && rank < std::ssize(nodes); };
  std::map<int, Moved> moved;
  bool nodes_known = !nodes.empty();
  for (const Traffic& t : traffic) {
    nodes_known = nodes_known && has_node(t.src) && has_node(t.dst);
    if (t.tensor == "metadata") continue;  // indices, which no message carries
    Moved& from = moved[t.src];
    from.sent = sum(from.sent, t.bytes);
    from.messages = sum(from.messages, t.messages);
    if (nodes_known && node_of(t.src) == node_of(t.dst)) from.sent_intra_node = sum(from.sent_intra_node, t.bytes);
    Moved& to = moved[t.dst];
    to.received = sum(to.received, t.bytes);
  }
  Differences differences("traffic");
  double tiles = 0;
  for (const RankUsage& rank : usage) {
    const Moved by_traffic = moved[rank.rank];
    moved.erase(rank.rank);
    differences.compare(rank.rank, "sent {} bytes", sum(rank.bytes_sent_intra_node, rank.bytes_sent_inter_node),
                        by_traffic.sent);
    if (nodes_known)
      differences.compare(rank.rank, "sent {} bytes inside its node", rank.bytes_sent_intra_node,
                          by_traffic.sent_intra_node);
    differences.compare(rank.rank, "received {} bytes", rank.bytes_received, by_traffic.received);
    differences.compare(rank.rank, "sent {} messages", rank.messages, by_traffic.messages);
    tiles += rank.tiles;
  }
  for (const auto& [rank, unknown] : moved)
    differences.add(fmt::format("traffic has rank {}, and rank_usage has not", rank));
  constexpr double kRounding = 1e-9;  // of sums in another order
  if (std::abs(tiles_of_run - tiles) > kRounding * std::max({1.0, std::abs(tiles_of_run), std::abs(tiles)}))
    differences.add(fmt::format("{} tiles were computed by run and {} by rank_usage", tiles_of_run, tiles));
  return std::move(differences).found();
}

std::vector<std::string> disagreements(Database& db, RunId run) {
  Statement row(db, "SELECT tiles FROM main.run WHERE run_id = ?");
  if (!row.bind_all(run).step()) return {};
  // Where processes ran on several hosts, ranks went by their nodes and not by those of the cluster.
  Statement members(db,
                    "SELECT node FROM main.run JOIN main.strategy_node USING (strategy_id) WHERE run_id = ? AND "
                    "(SELECT count(DISTINCT node) FROM main.rank_process) < 2 ORDER BY rank");
  std::vector<int> nodes;
  for (members.bind_all(run); members.step();) nodes.push_back(members.count(0));
  return disagreements(row.real(0), load_usage(db, run), load_traffic(db, run), nodes);
}

std::vector<std::string> disagreements(const Plan& plan, std::span<const RankUsage> usage) {
  Differences differences("its plan");
  if (std::ssize(usage) != plan.ranks) {
    differences.add(fmt::format("rank_usage has {} ranks and its plan {}", usage.size(), plan.ranks));
    return std::move(differences).found();
  }
  const std::vector<std::int64_t> sent = bytes_sent(plan), received = bytes_received(plan);
  std::vector<std::int64_t> flops(sent.size());
  for (const Op& op : plan.ops) flops[static_cast<std::size_t>(op.rank)] += op.flops;
  for (std::size_t r = 0; r < usage.size(); ++r) {
    const RankUsage& rank = usage[r];
    differences.compare(rank.rank, "sent {} bytes", sum(rank.bytes_sent_intra_node, rank.bytes_sent_inter_node),
                        sent[r]);
    differences.compare(rank.rank, "received {} bytes", rank.bytes_received, received[r]);
    differences.compare(rank.rank, "computed {} FLOPs", rank.flops, flops[r]);
  }
  return std::move(differences).found();
}

std::vector<Disagreement> disagreements_of_times(Database& db) {
  // Where ranks recorded, begin and end are those of the ranks, each on its clock.
  Statement rows(
      db,
      "SELECT run_id, repeat, end_ns - begin_ns - lead_ns, makespan_ns FROM main.repeat r JOIN main.run USING (run_id) "
      "WHERE finished AND network_source = ? AND end_ns - begin_ns - lead_ns <> makespan_ns AND NOT EXISTS (SELECT 1 "
      "FROM main.rank_repeat k WHERE k.run_id = r.run_id) ORDER BY 1, 2");
  rows.bind_all(Source::kModelled);
  std::vector<Disagreement> found;
  while (rows.step())
    found.push_back({fmt::format("run {}", rows.integer(0)),
                     fmt::format("repeat {} lasts {} ns by begin_ns, end_ns and lead_ns and {} ns by makespan_ns",
                                 rows.integer(1), rows.integer(2), rows.integer(3)),
                     RunId{rows.integer(0)}});
  return found;
}

std::vector<Disagreement> disagreements_of_events(Database& db) {
  Statement rows(
      db,
      "SELECT track_id, stored, ifnull(events, 0) FROM main.ledger LEFT JOIN (SELECT track_id, sum(count) AS "
      "events FROM main.chunk GROUP BY track_id) USING (track_id) WHERE stored <> ifnull(events, 0)");
  std::vector<Disagreement> found;
  while (rows.step())
    found.push_back({fmt::format("track {}", rows.integer(0)),
                     fmt::format("{} events are stored by ledger and {} by chunk", rows.integer(1), rows.integer(2)),
                     kNoRun});
  return found;
}

}  // namespace spscope
