#include "backend/launch/launch.h"

#include "backend/collect/collection.h"
#include "backend/job/run_size.h"

namespace spscope {
namespace {

// Errors that are worth a file even where no event was recorded: which rank failed or hung, and when.
bool tells_of_ranks(const Error& error) {
  return error.code() == ErrorCode::kRankFailed || error.code() == ErrorCode::kRankHung ||
         error.code() == ErrorCode::kStoreWrite;
}

// Why nothing of a run is to be kept; nothing when what it recorded is worth a file.
std::optional<Error> reason_to_discard(const Result<RunOutcome>& outcome, const std::optional<Error>& lost, bool wanted,
                                       bool refused) {
  if (!outcome) {
    const bool discards = !wanted || refused || outcome.error().code() == ErrorCode::kInterrupted;
    return discards ? std::optional(outcome.error()) : std::nullopt;
  }
  if (outcome->layer_passes_done > 0 || !outcome->interrupted()) return std::nullopt;
  if (lost) return wanted ? std::nullopt : lost;
  return Error(ErrorCode::kInterrupted, "the run was interrupted before a layer was complete", "nothing was kept");
}

}  // namespace

RunEnd run_in_process(const RunSetup& setup, RunOutput& output, const ProgressPage& page, const std::atomic<bool>& stop,
                      RunListener& listener) {
  const bool executes = setup.job.config.run.mode == RunMode::kExecute;
  RunShards shards(output.note(), shards_options(setup, 0, executes ? setup.job.run_ranks() : 0));
  RoomCheck room(output.note());
  RunOptions options = reporting_options(setup, page, listener);
  options.interrupt = &stop;
  options.on_size = [&](std::int64_t events) { room.require(events); };
  options.shards = shards.num_shards();
  options.masks = !setup.wanted.empty();
  for (const std::string& note : shards.collectors_left_out()) options.on_note(note);

  const Result<RunOutcome> outcome = capture([&] { return run_job(setup.job, shards.target(), options); });

  RunEnd end;
  if (outcome) end.outcome = *outcome;
  if (!outcome) end.failure = outcome.error();
  end.lost = shards.failure();
  if (const std::optional<Error> why = reason_to_discard(outcome, end.lost, !setup.wanted.empty(), room.refused())) {
    output.discard();
    end.has_shards = false;
    end.failure = why;
  } else {
    const std::optional<Error> incomplete = failure_of([&] {
      store_end(shards, outcome, shards.failure());
      shards.finish();
    });
    if (incomplete) output.leave_to_recover(end.failure ? *end.failure : *incomplete);
    end.lost = shards.failure();  // perhaps of its last events
    end.has_shards = outcome || tells_of_ranks(outcome.error()) || holds_events(output.note());
  }
  publish_cause(page, end);
  return end;
}

}  // namespace spscope
