#include "backend/cli/rank_run.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "backend/base/clock.h"
#include "backend/execute/agree.h"
#include "backend/launch/gather_shards.h"
#include "backend/launch/rank_clocks.h"

namespace spscope {
namespace {

constexpr double kLeaveSeconds = 5;  // for the others to come, after an error

// Why the events of this rank are missing, with the host whose disk is at fault.
std::optional<Error> lost_events(const RankWorld& world, const RunShards& shards) {
  const std::optional<Error> lost = shards.failure();
  return lost ? std::optional(at_host(world, *lost)) : lost;
}

// Has this process look for room where it is the first that writes: at home for the events of all ranks, since they
// come there in the end; on another host for those of its ranks.
void look_for_room(const RankWorld& world, const HostFolders& folders, RunOptions& options, bool& refused) {
  bool looks = world.rank() == 0;
  for (const CollectingElsewhere& part : folders.elsewhere())
    if (part.ranks.front() == world.rank()) looks = true, options.size_of_ranks = part.ranks;
  if (!looks) return;
  options.on_size = [&world, check = room_check(folders.note(), refused)](std::int64_t events) {
    if (const std::optional<Error> full = failure_of([&] { check(events); })) throw at_host(world, *full);
  };
}

// What there is to gather: of a run that did something.
bool leaves_something(const RankEnd& end) { return !end.outcome || end.lost || end.outcome->layer_passes_done > 0; }

}  // namespace

RankEnd run_rank(RankWorld& world, const RunFlags& flags, const Job& job, HostFolders& folders, RunOptions options) {
  RunShardsOptions place = shards_options(flags, world.rank(), 1);
  place.head = world.rank() == 0;
  place.node = world.node_of(world.rank());
  std::optional<RunShards> shards;
  const std::optional<Error> unmade = world.agree(failure_of([&] {
    shards.emplace(folders.note(), place);
    folders.keep();
  }));
  if (unmade) return {false, *unmade, {}};

  const std::int64_t zero_ns = now_ns();
  const auto add_clocks = [&](StoreWriter& head) { store_clocks(head, world, zero_ns); };
  if (place.head) options.add_to_layer = add_clocks;
  bool refused = false;
  look_for_room(world, folders, options, refused);
  world.measure_clocks();
  Result<RunOutcome> outcome = capture([&] {
    if (place.head) add_clocks(*shards->target().head);
    return run_job(job, shards->target(), options);
  });
  if (!world.leave_together(outcome ? 0 : kLeaveSeconds)) {
    static_cast<void>(failure_of([&] {
      tell_end(*shards, outcome, shards->failure());
      shards->finish();
    }));
    world.abort(fmt::format("rank {}: {}", world.rank(), render(outcome.error())));
  }
  world.measure_clocks();
  std::optional<Error> failure = failure_of([&] { shards->finish_ranks(); });
  const std::optional<Error> lost = world.agree(lost_events(world, *shards));
  if (!failure)
    failure = failure_of([&] {
      if (place.head) add_clocks(*shards->target().head);
      tell_end(*shards, outcome, lost);
      shards->finish();
    });
  failure = world.agree(failure);
  if (failure && outcome) outcome = *failure;
  return {!world.any(refused), std::move(outcome), lost};
}

std::optional<Error> keep_run(RankWorld& world, ProgressPrinter& printer, const RunFlags& flags, HostFolders& folders,
                              RunOutput* output, RankEnd& end) {
  const bool first = world.rank() == 0, launched = !flags.collection.empty();
  const auto kept = capture([&]() -> std::optional<Error> {
    const bool keeps = end.begun && world.any(first && (launched || leaves_something(end)));
    if (!keeps && output != nullptr) output->discard();
    const std::optional<Error> apart = keeps ? gather_shards(world, folders) : std::nullopt;
    if (apart && !end.outcome && first) printer.warn(render(end.outcome.error()));
    const std::optional<Error> mine = failure_of([&] {
      if (apart && output != nullptr) output->leave_to_recover(*apart);
      if (apart) throw *apart;  // and the process that started the ranks leaves what there is
      if (keeps && output != nullptr) {
        merge_output(*output, !end.outcome);
        printer.set_out(output->note().out);
      }
    });
    const std::optional<Error> agreed = world.agree(mine);  // as much of it as a message takes
    if (!agreed) folders.remove();
    return mine ? mine : agreed;
  });
  if (kept) return *kept;
  // The world itself failed: another host may be gone.
  return failure_of([&] {
    if (output != nullptr) output->leave_to_recover(kept.error());
    throw kept.error();
  });
}

}  // namespace spscope
