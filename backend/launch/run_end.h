// The end of a run, the same whoever ran its ranks: the shards become OUT, the listener shows what it holds, and the
// progress page says how the run ended.
//
//   run_in_process   ranks are threads of this process, or there are none    merge_and_report
//   launch_ranks     ranks are processes that this one started               merge_and_report
//   rank_main        this process is one of the ranks                        merge_run together, then report_run
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/exit_code.h"
#include "backend/base/result.h"
#include "backend/collect/progress_page.h"
#include "backend/job/job.h"
#include "backend/job/run_job.h"
#include "backend/job/run_listener.h"
#include "backend/job/run_output.h"
#include "backend/job/run_shards.h"

namespace spscope {

// What a run is asked for besides its job.
struct RunSetup {
  const Job& job;
  std::string wanted;  // OUT, as the user named it; "": nothing is wanted beyond what is printed
  bool force = false;  // RunOutputOptions::force
  std::string dump;    // folder of --dump; "": none
  std::string tool_version;
};

// How a run ended, as far as the process knows that makes OUT.
struct RunEnd {
  std::optional<RunOutcome> outcome;      // how far it came; nothing when it failed, or when only its ranks know
  std::optional<Error> failure;           // why there is no result
  std::optional<Error> lost;              // why events are missing
  bool has_shards = true;                 // false: there is nothing to make OUT of
  bool tolerant = false;                  // shards may be cut short, since their writers were killed
  std::vector<IncidentRecord> incidents;  // that are in no shard
  int exit_code = kExitDone;              // of processes that failed and said why themselves
  std::string launcher_failure;           // "mpirun ended with exit code 200; ": when they did not; else ""
};

// "the run was stopped by SIGTERM"
std::string stop_text();

// Where a process writes that executes `ranks` ranks from `first_rank` on.
RunShardsOptions shards_options(const RunSetup& setup, int first_rank, int ranks);
// Of the process that reports: progress goes to the page and the listener.
RunOptions reporting_options(const RunSetup& setup, const ProgressPage& page, RunListener& listener);
// Writes into the head shard, if this process has it, how the run ended. `lost`: why events of ranks are missing.
void store_end(RunShards& shards, const Result<RunOutcome>& outcome, const std::optional<Error>& lost);

// Says on the page why a run fails, as soon as that is known.
void publish_cause(const ProgressPage& page, const RunEnd& end);
// Makes OUT of the shards. Throws an Error that says where they are when that fails.
MergeReport merge_run(RunOutput& output, const RunSetup& setup, const RunEnd& end);
// Shows what became of a run. `report`: of OUT; nothing when another process makes it, or nobody. The exit code, or the
// Error that ended the run.
int report_run(const RunOutput* output, const RunSetup& setup, const RunEnd& end,
               const std::optional<MergeReport>& report, const ProgressPage& page, RunListener& listener);
// merge_run(), then report_run(), where this process alone makes OUT.
int merge_and_report(RunOutput& output, const RunSetup& setup, const RunEnd& end, const ProgressPage& page,
                     RunListener& listener);

// Calls `run` and says on the page how it ended. REQUIRES: the folder of the run is still there, so that those who
// watch it learn of the end. The exit code, or an Error.
int publish_end(const ProgressPage& page, RunListener& listener, const std::function<int()>& run);

}  // namespace spscope
