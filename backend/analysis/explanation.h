// Explanation: one layer pass of a stored run under every strategy of one mode: what its time consists of, what each
// strategy loses against the fastest, who waited for whom, and what edits would change. What `spscope explain` prints;
// all of it as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/analysis/critical_path.h"
#include "backend/analysis/judgement.h"
#include "backend/analysis/straggler.h"
#include "backend/analysis/time_edits.h"
#include "backend/store/store_reader.h"

namespace spscope {

// A step of a critical path with what a reader needs of its op.
struct NamedStep : PathStep {
  std::string name;  // of its events: "attend"
  std::optional<int> after_rank;
};

// Time that a path spends on a rank, from lead_ns on.
struct PathVisit {
  int rank = 0;
  std::int64_t ns = 0;
};

struct EditResult {
  TimeEdit edit;
  std::int64_t makespan_ns = 0;       // of this layer pass, scheduled anew
  std::int64_t change_ns = 0;         // against the edit kNone, also scheduled anew
  std::int64_t step_makespan_ns = 0;  // of all layer passes of its denoise step that the file holds
  Timeline timeline;                  // of this layer pass; of explain_edit() only, else empty
  std::int64_t lead_ns = 0;           // from its zero to where the makespan begins
};

struct StrategyExplanation {
  std::string id, label;
  RunProvenance provenance;
  std::string missing;           // why there is nothing below: "no timeline of it is kept"; "": there is
  std::int64_t makespan_ns = 0;  // of the layer pass, in this repeat
  int repeat = 0;
  // From the zero of the timeline to the end of the layer pass before; what the path has before that is not this one's.
  std::int64_t lead_ns = 0;
  std::int64_t zero_ns = 0;  // of the timeline: where the makespan begins

  CriticalPath path;
  TimeTerms path_terms;                // from lead_ns on; the sum is makespan_ns
  TimeTerms mean_terms;                // means over ranks (time_terms.h), the same sum
  std::vector<NamedStep> top_steps;    // longest first
  std::vector<PathVisit> path_visits;  // longest first; of equal ones the lower rank
  std::vector<std::int64_t> slack_ns;  // by OpId
  StrategyResult result;               // as if this layer pass had run alone
  // Why it is slower than the fastest, with the terms that both have along their paths; absent for the fastest and
  // where times do not compare or do not show that it is slower.
  std::optional<Reason> reason;
  TimeTerms more_on_path;  // of path_terms than the fastest has, where there is a reason
  std::string reason_text;

  std::vector<RankWait> waits;                  // for partners, longest first: they add up to wait_late_peer_ns
  std::vector<std::int64_t> wait_late_peer_ns;  // by rank
  // From the end of a rank to the end of the last one; none where the rank goes on with the next layer pass.
  std::vector<RankWait> end_waits;

  std::vector<Straggler> stragglers;

  std::string host_text;  // host_bound_text()

  // The first one is of the edit kNone. Empty, with the reason, where nothing can be scheduled anew.
  std::vector<EditResult> edits;
  std::vector<TimeEdit> all_edits;  // that there are: of explain_edit() more than `edits`
  std::string edits_missing;
};

// "With nothing changed, the model takes 1.63 ms where 3.18 ms were measured. Compare the edits with the 1.63 ms."; ""
// where they are equal, or nothing was scheduled.
std::string unchanged_text(const StrategyExplanation& explanation);

// "The host is the bottleneck: it takes 1.25 ms to post the work of rank 2, 12.5 us for each of 100 posts, and the
// layer pass takes 1.30 ms."; "" where no host takes nine tenths of the makespan, or what it takes is not known.
std::string host_bound_text(std::span<const RankUsage> ranks, std::size_t num_posts, std::int64_t makespan_ns);

struct Explanation {
  Comparison comparison;  // of the workload; whole-run reasons are those of its Judgement
  RunMode mode = RunMode::kSimulate;
  int layer = 0, denoise_step = 0;
  std::string fastest;  // id of the one with the shortest makespan in this layer pass; "": times do not compare
  std::vector<StrategyExplanation> strategies;  // fastest first; in stored order where times do not compare
};

struct ExplainRequest {
  std::optional<int> layer, denoise_step;  // absent: of the slowest layer pass (slowest_pass.h)
  std::optional<int> repeat;               // absent: of each strategy the one with the median makespan
  // Ids, names or labels of those to explain beside the fastest; none: all. Of explain_edit() the id of one.
  std::vector<std::string> strategies;
  bool edits = true;      // whether plans are scheduled anew; without, reasons rest on terms alone
  CancelToken cancelled;  // then explaining ends soon, with an Error (kCancelled)
};

// The first workload that has times, and of it the first mode. Throws Error: no workload, or no layer pass that every
// strategy finished (kStoreCorrupt); there is no such layer pass or strategy (kUsage).
Explanation explain(const StoreReader& reader, const ExplainRequest& request);
// The same of what compare_store() gave for this file, which takes as long as reading it.
Explanation explain(const StoreReader& reader, std::span<const Comparison> comparisons, const ExplainRequest& request);
// Of the strategy that request.strategies names what it says of kNone and of this edit, with their timelines, and
// nothing that they do not rest on: no paths, and no reasons. Absent when it does not explain this strategy.
std::optional<StrategyExplanation> explain_edit(const StoreReader& reader, std::span<const Comparison> comparisons,
                                                const ExplainRequest& request, TimeEditKind edit);

}  // namespace spscope
