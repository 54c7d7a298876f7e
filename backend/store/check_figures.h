// Figures that a file holds twice, compared with each other: what a rank sent and received (rank_usage, traffic, plan),
// tiles (run, rank_usage), times of repeats (begin and end, makespan), events (ledger, chunk). They are equal in every
// file that a run wrote, so that a difference is damage, or an edit of one of the two.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/record/events.h"
#include "backend/store/records.h"

namespace spscope {

class Database;

// Each difference in the figures of a finished run: "rank 0 sent 96 bytes by rank_usage and 92 by traffic".
// `nodes`: the node of each rank, by which bytes within and between nodes are told apart; empty when it is not known.
std::vector<std::string> disagreements(double tiles, std::span<const RankUsage> usage, std::span<const Traffic> traffic,
                                       std::span<const int> nodes);
// The same of a run that a file holds. Throws Error: it cannot be read.
std::vector<std::string> disagreements(Database& db, RunId run);
// Against its plan.
std::vector<std::string> disagreements(const Plan& plan, std::span<const RankUsage> usage);

struct Disagreement {
  std::string name;  // "run 3", "track 7"
  std::string what;
  RunId run = kNoRun;
};
// Repeats of modelled times that do not last as long as their makespan, and tracks with other events than their ledger
// says.
std::vector<Disagreement> disagreements_of_times(Database& db);
std::vector<Disagreement> disagreements_of_events(Database& db);

}  // namespace spscope
