#include "backend/launch/launch.h"

#include <fmt/format.h>

#include <memory>

#include "backend/base/clock.h"
#include "backend/config/environment.h"
#include "backend/execute/agree.h"
#include "backend/execute/rank_world.h"
#include "backend/job/head_writer.h"
#include "backend/job/run_size.h"
#include "backend/launch/gather_shards.h"
#include "backend/launch/host_folders.h"
#include "backend/launch/rank_clocks.h"
#include "backend/launch/stop_signals.h"

namespace spscope {
namespace {

constexpr double kLeaveSeconds = 5;  // for the others to come, after an error

// What a rank's process knows when its job has ended.
struct RankEnd {
  bool begun = true;  // false: a rank could not make its shard, or there is no room for events, and nothing is kept
  Result<RunOutcome> outcome;
  std::optional<Error> lost;  // why events of some rank are missing; the same at all ranks
};

// What rank 0 made of all shards, or why it could not; the same at all ranks.
struct KeptRun {
  std::optional<MergeReport> report;
  std::optional<Error> failure;
};

// One process for each rank of the job. Throws Error(kLaunch).
void require_all_ranks(const RankWorld& world, const Job& job) {
  const int ranks = job.run_ranks();
  if (world.size() == ranks) return;
  throw Error(ErrorCode::kLaunch,
              fmt::format("{} processes were started, and the run has {} ranks", world.size(), ranks),
              fmt::format("mpirun -n {} spscope run ..., or spscope run --launcher mpi", ranks));
}

// Where the run goes, as this process knows it. Rank 0 makes the collection, unless a launcher has, whose note is
// `collection`; each other host gets a folder. Throws an Error that all ranks met.
struct RankPlaces {
  RankPlaces(RankWorld& world, const RunSetup& setup, const std::string& collection) {
    const std::string& scratch = setup.job.config.run.scratch;
    CollectingNote home;
    throw_agreed(world, failure_of([&] {
                   require_all_ranks(world, setup.job);
                   if (world.rank() != 0) return;
                   if (collection.empty())
                     output.emplace(setup.wanted, RunOutputOptions{setup.force, scratch, world.size(), {}});
                   home = output ? output->note() : read_collecting(collection);
                 }));
    folders.emplace(world, home, scratch);
    if (world.rank() == 0) page.emplace(folders->note().progress_page());
  }

  std::optional<RunOutput> output;  // at rank 0, when no launcher has it
  std::optional<HostFolders> folders;
  std::optional<ProgressPage> page;  // at rank 0
};

// What a rank writes while the job runs, in the order in which it is made.
struct RankRecording {
  // Throws Error: a shard cannot be made.
  RankRecording(RankWorld& of, const CollectingNote& note, const RunShardsOptions& options)
      : world(of), shards(note, options), head(shards.target().head, &of), room(note) {}

  // Has this process look for room where it is the first that writes: at home for the events of all ranks, since they
  // come there in the end; on another host for those of its ranks.
  void look_for_room(const HostFolders& folders, RunOptions& options) {
    bool looks = head.is_here();
    for (const CollectingElsewhere& part : folders.elsewhere())
      if (part.ranks.front() == world.rank()) looks = true, options.size_of_ranks = part.ranks;
    if (looks)
      options.on_size = [this](std::int64_t events) {
        if (const auto full = failure_of([&] { room.require(events); })) throw at_host(world, *full);
      };
  }

  RankWorld& world;
  RunShards shards;  // of this rank, with its collectors, and at rank 0 the head
  const HeadWriter head;
  const std::int64_t zero_ns = now_ns();  // of the run clock
  RoomCheck room;
};

// Why the events of this rank are missing, with the host whose disk is at fault.
std::optional<Error> lost_events(const RankWorld& world, const RunShards& shards) {
  const std::optional<Error> lost = shards.failure();
  return lost ? std::optional(at_host(world, *lost)) : lost;
}

// Runs the job into the shard of this rank and, at rank 0, the head. All processes meet at its end; one that does not
// come after an error of another ends them all.
RankEnd run_rank(RankWorld& world, const RunSetup& setup, HostFolders& folders, RunOptions options) {
  RunShardsOptions place = shards_options(setup, world.rank(), 1);
  place.head = world.rank() == 0;
  place.node = world.node_of(world.rank());
  std::optional<RankRecording> made;
  const std::optional<Error> unmade = world.agree(failure_of([&] {
    made.emplace(world, folders.note(), place);
    folders.keep();
  }));
  if (unmade) return {false, *unmade, {}};
  RankRecording& own = *made;
  if (options.on_note)  // the process that reports
    for (const std::string& note : own.shards.collectors_left_out()) options.on_note(note);
  own.look_for_room(folders, options);
  options.add_to_layer = [&](StoreWriter& head) { store_clocks(head, world, own.zero_ns); };

  world.measure_clocks();
  Result<RunOutcome> outcome = capture([&] {
    own.head.write(options.add_to_layer);
    return run_job(setup.job, own.shards.target(), options);
  });
  if (!world.leave_together(outcome ? 0 : kLeaveSeconds)) {
    static_cast<void>(failure_of([&] {
      store_end(own.shards, outcome, own.shards.failure());
      own.shards.finish();
    }));
    world.abort(fmt::format("rank {}: {}", world.rank(), render(outcome.error())));
  }

  world.measure_clocks();
  std::optional<Error> failure = failure_of([&] { own.shards.finish_ranks(); });
  const std::optional<Error> lost = world.agree(lost_events(world, own.shards));
  const std::optional<Error> unstored = failure_of([&] { own.head.write(options.add_to_layer); });
  if (!failure) failure = unstored;
  if (!failure)
    failure = failure_of([&] {
      store_end(own.shards, outcome, lost);
      own.shards.finish();
    });
  failure = world.agree(failure);
  if (failure && outcome) outcome = *failure;
  return {!world.any(own.room.refused()), std::move(outcome), lost};
}

// Brings the shards of all hosts together and, where `output` is, makes OUT of them. Folders of other hosts are removed
// when what they held is safe, or when nothing is to be kept. The Error says where everything is when that could not be
// done. `wanted`: at rank 0, whether the run left anything to keep.
KeptRun keep_run(RankWorld& world, const RunSetup& setup, const RunEnd& end, bool wanted, HostFolders& folders,
                 RunOutput* output, RunListener& listener) {
  KeptRun kept;
  const std::optional<Error> world_failure = failure_of([&] {
    const bool keeps = world.any(wanted);
    if (!keeps && output != nullptr) output->discard();
    const std::optional<Error> apart = keeps ? gather_shards(world, folders) : std::nullopt;
    if (apart && end.failure && world.rank() == 0) listener.warn(render(*end.failure));
    kept.failure = failure_of([&] {
      if (apart && output != nullptr) output->leave_to_recover(*apart);
      if (apart) throw *apart;  // and the process that started the ranks leaves what there is
      if (keeps && output != nullptr) kept.report = merge_run(*output, setup, end);
    });
    const std::optional<Error> agreed = world.agree(kept.failure);  // as much of it as a message takes
    if (!agreed) folders.remove();
    if (!kept.failure) kept.failure = agreed;
  });
  if (!world_failure) return kept;
  // Another host may be gone.
  kept.failure = failure_of([&] {
    if (output != nullptr) output->leave_to_recover(*world_failure);
    throw *world_failure;
  });
  return kept;
}

}  // namespace

int rank_main(const RunSetup& setup, const std::string& collection, RunListener& listener) {
  const bool launched = !collection.empty();
  const std::atomic<bool>& stop = watch_stop_signals(false);
  if (launched) take_stops_of_launcher();

  // The processes of all ranks meet; from here on they decide together.
  WorldOptions world_options;
  world_options.ranks_per_node = pretended_ranks_per_node();
  world_options.last_line = [&listener](const std::string& text) { return listener.warning_line(text); };
  const std::unique_ptr<RankWorld> world = start_mpi_world(world_options);
  const bool first = world->rank() == 0;
  if (!first) listener.silence();

  // Where each of them writes.
  std::optional<RankPlaces> found;
  if (const auto nowhere = failure_of([&] { found.emplace(*world, setup, collection); })) {
    if (first) throw *nowhere;
    return kExitDone;  // rank 0 says why
  }
  RankPlaces& places = *found;
  RunOutput* const output = places.output ? &*places.output : nullptr;

  // Every layer, into the shard of this rank.
  RunOptions options = first ? reporting_options(setup, *places.page, listener) : RunOptions();
  options.interrupt = &stop;
  options.world = world.get();
  options.shards = world->size() + 1;
  const RankEnd ran = run_rank(*world, setup, *places.folders, options);
  listener.end_progress();
  RunEnd end;
  if (ran.outcome) end.outcome = *ran.outcome;
  if (!ran.outcome) end.failure = ran.outcome.error();
  end.lost = ran.lost;
  end.tolerant = end.failure.has_value();
  if (first) publish_cause(*places.page, end);

  // Shards of all hosts to where OUT is made of them, and what the run is worth.
  const auto finish = [&] {
    const bool left_something = end.failure || end.lost || end.outcome->layer_passes_done > 0;
    const bool wanted = first && ran.begun && (launched || left_something);
    const KeptRun kept = keep_run(*world, setup, end, wanted, *places.folders, output, listener);
    if (!first) return kExitDone;
    if (kept.failure) throw *kept.failure;
    return report_run(output, setup, end, kept.report, *places.page, listener);
  };
  return first && output != nullptr ? publish_end(*places.page, listener, finish) : finish();
}

}  // namespace spscope
