// What the ways of running share: ranks that are threads of this process (cmd_run.cpp), and ranks that are processes
// (run_ranks.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backend/base/result.h"
#include "backend/cli/command.h"
#include "backend/cli/progress_printer.h"
#include "backend/collect/progress_page.h"
#include "backend/job/job.h"
#include "backend/job/run_job.h"
#include "backend/job/run_output.h"
#include "backend/job/run_shards.h"

namespace spscope {

struct RunFlags {
  JobFlags job;
  std::string output, dump, progress, launcher;  // launcher "": as run.backend and who started this process say
  bool force = false, headless = false;
  std::string acknowledge;  // see RunShardsOptions
  std::string collection;   // of a rank's process that a launcher started: the note of the run in progress

  std::string progress_kind() const { return !progress.empty() ? progress : headless ? "json" : "bar"; }
};

// Runs, and then says on the page how it ended: before the folder of the run goes, so that those who look on know. The
// exit code, or an Error.
int end_of_run(const ProgressPage& page, ProgressPrinter& printer, const std::function<int()>& run);
// "the run was stopped by SIGTERM"
std::string stop_text();
// "interrupted: 12 of 2,000 layer passes were complete"
std::string interrupted_text(const RunOutcome& outcome);

// Where a process writes that executes `ranks` ranks from `first_rank` on.
RunShardsOptions shards_options(const RunFlags& flags, int first_rank, int ranks);
// For RunOptions::on_size: `refused` says afterwards whether the run was ended for want of room before anything ran.
std::function<void(std::int64_t)> room_check(const CollectingNote& note, bool& refused);
// Says in the head shard, if this process has it, how the run ended. `lost`: why events of ranks are missing.
void tell_end(RunShards& shards, const Result<RunOutcome>& outcome, const std::optional<Error>& lost);
// The same, and makes the shards complete.
void finish_shards(RunShards& shards, const Result<RunOutcome>& outcome);
// Makes OUT of the shards, and of what the one who merges knows to have gone wrong.
MergeReport merge_output(RunOutput& output, bool tolerant, const std::vector<IncidentRecord>& incidents = {});
// Prints the stored run as `compare` would show it, and what became of it; the exit code.
int print_stored(CommandContext& context, const std::string& path, const std::string& shown_path);
// Says where the run is kept; nothing between JSON lines.
void print_kept(CommandContext& context, const RunFlags& flags, const std::string& wanted);

}  // namespace spscope
